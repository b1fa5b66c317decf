package hdfs

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestProtection: what could not be read is refused before anything is written.
func TestProtection(t *testing.T) {
	for list, want := range map[string]string{"": "", "authentication": "authentication", "Privacy, Authentication": "authentication"} {
		if got, err := protection(list); got != want || err != nil {
			t.Errorf("%q: %q, %v, want %q", list, got, err, want)
		}
	}
	for _, list := range []string{"integrity", "privacy", "integrity,privacy"} {
		o := Options{Addresses: []string{"nn:8020"}, User: "me", conf: map[string]string{"dfs.data.transfer.protection": list}}
		if _, err := New(t.Context(), o); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "want authentication") {
			t.Errorf("%s: %v, want errors.ErrUnsupported with what to do", list, err)
		}
	}
}

// TestKerberos meets a cluster that wants to see who one is, on the way to its datanodes too.
func TestKerberos(t *testing.T) {
	leakless(t)
	const protection = "authentication,privacy"
	c := start(t, 1, 1, protection)
	c.addresses = strings.Replace(c.addresses, "127.0.0.1", "localhost", 1) // the name of the service
	c.ask("mkdir /thole-test")
	c.ask("chmod /thole-test 777")
	t.Setenv("KRB5_CONFIG", filepath.Join(c.folder, "krb5.conf"))
	alice := func(o *Options) {
		o.Kerberos = &Kerberos{Principal: "alice@EXAMPLE.COM", Keytab: filepath.Join(c.folder, "user.keytab")}
		o.conf = map[string]string{
			"dfs.namenode.kerberos.principal": "hdfs/_HOST@EXAMPLE.COM", "dfs.data.transfer.protection": protection,
		}
	}
	data := noise(20 << 20)
	b := c.patient(t, 5*time.Second, alice)
	write(t, b, "d/x", data)
	wantBytes(t, b, "d/x", data)
	if _, err := b.stat(t.Context(), "d/x"); err != nil || b.client.User() != "alice" {
		t.Errorf("%v as %s, want alice", err, b.client.User())
	}
	release, err := b.Claim(t.Context(), "d", "alice")
	if err != nil {
		t.Fatal(err)
	}
	release()
	for name, change := range map[string]func(o *Options){
		"no tickets":       func(o *Options) { o.Kerberos = nil },
		"another's keytab": func(o *Options) { o.Kerberos.Principal = "bob@EXAMPLE.COM" },
		"no such service":  func(o *Options) { o.Kerberos.Service = "nn/elsewhere" },
	} {
		o := options(t, c.addresses)
		alice(&o)
		change(&o)
		if b, err := New(t.Context(), o); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("%s: %v, want fs.ErrPermission", name, err)
			if err == nil {
				b.Close()
			}
		} else {
			t.Log(err)
		}
	}
}
