package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"thole.example/access"
)

func tokenCommand(e *env) *cobra.Command {
	rights, limits, to := "", "", ""
	c := &cobra.Command{
		Use:   "token NAME",
		Short: "Make a token for a server that asks who comes",
		Long: `Makes a random secret and prints it, and the line that a server's list --tokens has of it. The list has no secret, and nobody
can come in with what it has. Rights: read is to pull values, write is everything that a task of a job does, administer is to see
the state of the server at its --admin address. Limits: bytes of matrices, requests a second, partitions.`,
		Example: `  thole token ann --rights write
  thole token ctr --rights write --limits 'bytes=8GiB requests=10000 partitions=64' --secret-to ctr.secret >> tokens`,
		RunE: func(_ *cobra.Command, args []string) error {
			t := access.Token{Name: args[0]}
			err := access.CheckName(t.Name)
			if err == nil {
				t.Rights, err = access.ParseRights(rights)
			}
			if err == nil {
				t.Limits, err = access.ParseLimits(limits)
			}
			if err != nil {
				return usageError{err}
			}
			s := access.NewSecret()
			t.Hash = s.Hash()
			if to == "" {
				fmt.Fprintf(e.out, "secret  %s\nline    %v\n", s.Text(), t)
				return nil
			}
			if err := keepSecret(to, s); err != nil {
				return fmt.Errorf("--secret-to %w", err)
			}
			fmt.Fprintln(e.out, t)
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&rights, "rights", "write", "what it allows: read, write and administer, between commas")
	f.StringVar(&limits, "limits", "", "how much it allows, like 'bytes=8GiB requests=10000 partitions=64'")
	f.StringVar(&to, "secret-to", "", "new file for the secret, which only its owner can read; then the line alone is printed")
	return c
}

// keepSecret writes a secret to a new file.
func keepSecret(path string, s access.Secret) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(f, s.Text())
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}
