package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"thole.example/access"
)

func tokenCommand(e *env) *cobra.Command {
	rights, to, from := "", "", ""
	quota, scope := &quotaFlag{}, access.Scope{}
	c := &cobra.Command{
		Use:   "token NAME",
		Short: "Make a token for a server with --tokens",
		Long: `Makes a random secret and prints it, with the line that a server's list --tokens has of it. The line has the public key of the
secret, which gives no access. NAME owns the jobs that are started with the token; a second token of the same name with another secret is
the same owner.

Rights: read is to pull values, write is everything that a task of a job does, administer is to see the state of the server at its --admin
address, and extends the other rights to the jobs of all owners.`,
		Example: `  thole token ann --rights write
  thole token ads --jobs 'ads-*' --quota memory=8GiB --store models/ads/ --secret-to ads.secret >> tokens
  thole token dashboard --rights read --jobs 'ads/ads-*' --secret-to dashboard.secret >> tokens
  thole token ctr --quota 'memory=8GiB requests=10000 partitions=64' --secret-to ctr.secret >> tokens`,
		RunE: func(_ *cobra.Command, args []string) error {
			t := access.Token{Name: args[0], Scope: scope, Limits: quota.limits}
			err := access.CheckName(t.Name)
			if err == nil {
				t.Rights, err = access.ParseRights(rights)
			}
			if err == nil && to != "" && from != "" {
				err = errors.New("--secret-to and --secret-from, want one of them")
			}
			if err != nil {
				return usageError{err}
			}
			s := access.NewSecret()
			if from != "" {
				if s, err = secretIn(from); err != nil {
					return err
				}
			}
			t.Key = s.Key()
			switch {
			case to != "":
				if err := keepSecret(to, s); err != nil {
					return fmt.Errorf("--secret-to %w", err)
				}
			case from == "":
				fmt.Fprintf(e.out, "secret  %s\nline    %v\n", s.Text(), t)
				return nil
			}
			fmt.Fprintln(e.out, t)
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&rights, "rights", "write", "what it allows: read, write and administer, between commas")
	for _, row := range access.SettingTable() {
		f.Var(&scopeFlag{scope: &scope, name: row.Name}, row.Name, row.Help)
	}
	f.Var(quota, "quota", "how much of a server its jobs may use together, like 'memory=8GiB processors=4': "+
		strings.Join(limitNames(), ", "))
	f.StringVar(&to, "secret-to", "", "new file for the secret, which only its owner can read; then the line alone is printed")
	f.StringVar(&from, "secret-from", "", "file with a secret that there is already, for which the line alone is printed")
	return c
}

// limitNames are the names of the limits of tokens.
func limitNames() (names []string) {
	for _, row := range access.LimitTable() {
		names = append(names, row.Name)
	}
	return names
}

// quotaFlag is a flag of limits.
type quotaFlag struct{ limits access.Limits }

var _ pflag.Value = (*quotaFlag)(nil)

// String implements pflag.Value.
func (q *quotaFlag) String() string { return q.limits.String() }

// Type implements pflag.Value.
func (q *quotaFlag) Type() string { return "quota" }

// Set implements pflag.Value.
func (q *quotaFlag) Set(text string) error {
	both, err := access.ParseLimits(q.limits.String() + " " + text)
	if err == nil {
		q.limits = both
	}
	return err
}

// scopeFlag is a flag of one setting of a token's scope.
type scopeFlag struct {
	scope *access.Scope
	name  string
	text  string
}

var _ pflag.Value = (*scopeFlag)(nil)

// String implements pflag.Value.
func (s *scopeFlag) String() string { return s.text }

// Type implements pflag.Value.
func (s *scopeFlag) Type() string { return "string" }

// Set implements pflag.Value.
func (s *scopeFlag) Set(text string) error {
	s.text = text
	return s.scope.ParseScope(s.name, text)
}

// secretIn is the secret in a file.
func secretIn(path string) (access.Secret, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return access.Secret{}, fmt.Errorf("--secret-from %w", err)
	}
	s, err := access.ParseSecret(text)
	if err != nil {
		err = usageError{fmt.Errorf("--secret-from %s: %w", path, err)}
	}
	return s, err
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
