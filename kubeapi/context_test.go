package kubeapi

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestContext: a context that is named has its own cluster and namespace, and one that is not there is told with those that are.
func TestContext(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	text := `current-context: a
contexts:
- {name: a, context: {cluster: one, user: u}}
- {name: b, context: {cluster: two, user: u, namespace: models}}
clusters: [{name: one, cluster: {server: "http://one"}}, {name: two, cluster: {server: "http://two"}}]
users: [{name: u, user: {}}]
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ context, server, namespace string }{{"", "http://one", ""}, {"a", "http://one", ""}, {"b", "http://two", "models"}} {
		api, err := Find(func(name string) string { return map[string]string{"KUBECONFIG": file}[name] }, c.context)
		if err != nil || api.Server != c.server || api.Namespace != c.namespace {
			t.Errorf("context %q: %+v, %v, want %s and namespace %q", c.context, api, err, c.server, c.namespace)
		}
	}
	if _, err := FromFile(file, "c"); err == nil || !strings.Contains(err.Error(), `"c" is none of the file, want one of ["a" "b"]`) {
		t.Errorf("context c: %v", err)
	}
}
