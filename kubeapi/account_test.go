package kubeapi

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAccount: a pod trusts its cluster's authority, and reads the token of its service account each time.
func TestAccount(t *testing.T) {
	token := "Bearer first"
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"kind":"Status","details":{"kind":"leases"}}`))
	}))
	defer server.Close()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	addr := strings.TrimPrefix(server.URL, "https://")
	write("ca.crt", "")
	write("namespace", "models\n")
	if _, err := inCluster(addr, dir); err == nil || !strings.Contains(err.Error(), "no certificates") {
		t.Errorf("without an authority: %v", err)
	}
	write("ca.crt", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	write("token", "first\n")
	api, err := inCluster(addr, dir)
	if err != nil {
		t.Fatal(err)
	}
	if api.Namespace != "models" {
		t.Errorf("namespace %q, want models", api.Namespace)
	}
	const path = "/apis/coordination.k8s.io/v1/namespaces/default/leases/k"
	for _, name := range []string{"first", "second"} {
		write("token", name)
		token = "Bearer " + name
		if a, err := api.Ask(t.Context(), http.MethodGet, path, JSON, nil, 1000); err != nil || a.Status != http.StatusNotFound || a.Kind() != "leases" {
			t.Errorf("with the %s token: %+v, %v", name, a, err)
		}
	}
	if err := os.Remove(filepath.Join(dir, "token")); err != nil {
		t.Fatal(err)
	}
	if _, err := api.Ask(t.Context(), http.MethodGet, path, JSON, nil, 1000); err == nil || !strings.Contains(err.Error(), "token: open ") {
		t.Errorf("without a token: %v", err)
	}
}
