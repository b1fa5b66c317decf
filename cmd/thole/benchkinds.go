package main

import (
	"slices"

	"thole.example/bench"
)

// benchKind is how a kind is used.
type benchKind struct {
	flags   []string // beside --json, and those of servers
	rule    string   // that of the table if the user names none
	cols    string
	example string

	less         []string // flags that decide how much memory it takes
	lessRequests []string // where requests take most of it, if these are others
}

// benchKinds is the table of the kinds' flags: a flag that is not there is refused.
func benchKinds() map[string]benchKind {
	return map[string]benchKind{
		"table": {
			flags: []string{"keys", "seconds", "batch", "skew", "dim", "rule"}, rule: "adagrad",
			example: "  thole bench table --keys 10M\n  thole bench table --rule none",
			less:    []string{"keys", "dim"}, lessRequests: []string{"batch", "dim"},
		},
		"pull": {
			flags: []string{"keys", "seconds", "batch", "skew", "in-flight", "dim", "rule", "wire", "cache", "staleness"},
			example: "  thole bench pull --in-flight 4\n" +
				"  thole bench pull --skew 1.1 --cache 1MiB\n" +
				"  thole bench pull --servers 10.0.0.1:7001,10.0.0.2:7001 --json",
			less: []string{"keys", "dim"}, lessRequests: []string{"in-flight", "batch", "dim"},
		},
		"push": {
			flags: []string{"keys", "seconds", "batch", "skew", "in-flight", "dim", "rule", "wire"}, rule: "adagrad",
			example: "  thole bench push --keys 10M --rule adam --in-flight 4\n" +
				"  thole bench push --keys 10M --skew 1 --memory 512MiB --scratch /tmp",
			less: []string{"keys", "dim"}, lessRequests: []string{"in-flight", "batch", "dim"},
		},
		"row":     {flags: []string{"seconds", "cols", "wire"}, cols: "100M", example: "  thole bench row --processes 4", less: []string{"cols"}},
		"barrier": {flags: []string{"seconds", "tasks"}, example: "  thole bench barrier --tasks 20"},
		"storm": {
			flags: []string{"tasks", "cols", "async", "by-key"}, cols: "25M", example: "  thole bench storm --memory 1GiB",
			less: []string{"tasks", "cols"},
		},
	}
}

// benchServerFlags are the flags of all kinds but table, which has no servers.
var benchServerFlags = []string{"servers", "processes", "in-process", "memory", "scratch", "no-checksum",
	"tls", "tls-ca", "tls-cert", "tls-key", "tls-name", "token-file"}

// all are the flags of a kind.
func (k *benchKind) all(kind string) []string {
	all := append([]string{"json"}, k.flags...)
	if kind != "table" {
		all = append(all, benchServerFlags...)
	}
	return all
}

// benchKindsOf are the kinds that have a flag.
func benchKindsOf(flag string) (names []string) {
	kinds := benchKinds()
	for _, k := range bench.Kinds() {
		if kind := kinds[k.Name]; slices.Contains(kind.all(k.Name), flag) {
			names = append(names, k.Name)
		}
	}
	return names
}
