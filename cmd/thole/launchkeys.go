package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"thole.example/launch/kubernetes"
)

// launchKeysCommand creates the Secret of a launch whose other objects were applied as a manifest.
func launchKeysCommand(e *env) *cobra.Command {
	var k kubeKeeper
	c := &cobra.Command{
		Use:   "keys",
		Short: "Create the Secret of a launch on Kubernetes",
		Long: `Creates the Secret NAME-access for a launch that was applied as a manifest or chart: a certificate for its servers and what
verifies it (tls.crt, tls.key, ca.crt), the servers' list of tokens (tokens), the token of the workers (secret) and that for
monitoring (monitor). A Secret that is there stays as it is. The Secret is deleted with the ServiceAccount of the launch.

A manifest of thole launch --dry-run, the Helm chart and the kustomize base have a Job that does this in the cluster. To rotate the
keys, delete the Secret, run this command, and restart the pods.`,
		Example: "  thole launch keys --namespace models --name clicks",
		RunE: func(c *cobra.Command, _ []string) error {
			cluster, err := k.find()
			if err != nil {
				return err
			}
			l := &kubernetes.Launch{Name: k.name, Namespace: cluster.Namespace}
			created, err := cluster.CreateSecret(c.Context(), l, e.now())
			if err != nil {
				return err
			}
			how := "is there already, and stays"
			if created {
				how = "created"
			}
			_, err = fmt.Fprintf(e.out, "Secret %s in the namespace %s: %s\n", l.SecretName(), l.Namespace, how)
			return err
		},
	}
	k.flags(c)
	return c
}
