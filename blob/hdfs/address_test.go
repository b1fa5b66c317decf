package hdfs

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"thole.example/blob"
)

// conf is the configuration of a cluster with two namenodes, and of one with one.
var conf = map[string]string{
	"fs.defaultFS":                        "hdfs://prod",
	"dfs.nameservices":                    "prod,old",
	"dfs.ha.namenodes.prod":               "nn1, nn2",
	"dfs.namenode.rpc-address.prod.nn1":   "master1:8020",
	"dfs.namenode.rpc-address.prod.nn2":   "master2",
	"dfs.namenode.rpc-address.old":        "legacy:9000",
	"dfs.ha.namenodes.broken":             "a,b",
	"dfs.namenode.rpc-address.broken.a":   "x:1",
	"fs.permissions.umask-mode":           "027",
	"dfs.namenode.kerberos.principal":     "hdfs/_HOST@EXAMPLE.COM",
	"fs.default.name":                     "%zz",
	"dfs.client.use.datanode.hostname":    "true",
	"dfs.namenode.rpc-address.prod.other": "unused:1",
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		address   string
		conf      map[string]string
		addresses string // with spaces between them
		user      string
		name      string
	}{
		{"hdfs://nn:9000/models/lr", nil, "nn:9000", "", "models/lr"},
		{"hdfs://nn/models/lr/", nil, "nn:8020", "", "models/lr"},
		{"hdfs://nn", nil, "nn:8020", "", ""},
		{"hdfs://a:1,b,c:3/x", nil, "a:1 b:8020 c:3", "", "x"},
		{"hdfs://[::1]:9000/x", nil, "[::1]:9000", "", "x"},
		{"hdfs://[::1]/x", nil, "[::1]:8020", "", "x"},
		{"hdfs://alice@nn:9000/x", nil, "nn:9000", "alice", "x"},
		{"hdfs://nn:9000/x?user=bob&replication=2", nil, "nn:9000", "bob", "x"},
		{"hdfs:///x/y", conf, "master1:8020 master2:8020", "", "x/y"},
		{"hdfs://prod/x", conf, "master1:8020 master2:8020", "", "x"},
		{"hdfs://old/x", conf, "legacy:9000", "", "x"},
		{"hdfs://elsewhere/x", conf, "elsewhere:8020", "", "x"},
		{"hdfs:///x", map[string]string{"fs.default.name": "hdfs://nn:7"}, "nn:7", "", "x"},
		{`hdfs://nn/odd name/with %41 and \`, nil, "nn:8020", "", `odd name/with %41 and \`},
	} {
		o, name, err := parse(c.address, c.conf)
		if got := strings.Join(o.Addresses, " "); err != nil || got != c.addresses || o.User != c.user || name != c.name {
			t.Errorf("%s: %s, %q, %q, %v, want %s, %q, %q", c.address, got, o.User, name, err, c.addresses, c.user, c.name)
		}
	}
	o, _, err := parse("hdfs://nn/x?replication=3&blocksize=1048576&keytab=k&principal=me@R&ccache=c&service=nn/h", conf)
	if err != nil || o.Replication != 3 || o.BlockSize != 1<<20 || o.Umask != 0o027 || *o.Kerberos != (Kerberos{"me@R", "k", "c", "", "nn/h"}) {
		t.Errorf("%+v, %+v, %v", o, o.Kerberos, err)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ address, want string }{
		{"s3://b/x", "want hdfs://HOST:PORT/PATH"}, {"hdfs:/x", "want hdfs://HOST:PORT/PATH"}, {"hdfs:///x", "HADOOP_CONF_DIR"},
		{"hdfs://:9000/x", `namenode ":9000"`}, {"hdfs://nn:0/x", "want HOST:PORT"}, {"hdfs://nn:70000/x", "want HOST:PORT"},
		{"hdfs://nn:+80/x", "want HOST:PORT"}, {"hdfs://a,,b/x", "want HOST:PORT"}, {"hdfs://a b/x", "want HOST:PORT"},
		{"hdfs://a:b:c/x", "want HOST:PORT"}, {"hdfs://@nn/x", "no user before @"}, {"hdfs://nn/../x", "not a name"},
		{"hdfs://nn/a//b", "not a name"}, {"hdfs://nn/x?usr=me", "want one of blocksize, ccache"}, {"hdfs://nn/x?user=", "user: want one value"},
		{"hdfs://nn/x?user=a&user=b", "user: want one value"}, {"hdfs://nn/x?replication=0", "from 1 to 512"},
		{"hdfs://nn/x?blocksize=1000000", "multiple of 512"}, {"hdfs://nn/x?%zz", "invalid URL escape"},
	} {
		if _, _, err := parse(c.address, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want one with %q", c.address, err, c.want)
		}
	}
	for address, conf := range map[string]map[string]string{
		"dfs.namenode.rpc-address.broken.b": conf, "want hdfs://HOST:PORT": {"fs.defaultFS": "file:///"},
	} {
		authority := ""
		if strings.Contains(address, "broken") {
			authority = "broken"
		}
		if _, _, err := parse("hdfs://"+authority+"/x", conf); err == nil || !strings.Contains(err.Error(), address) {
			t.Errorf("%v, want one with %s", err, address)
		}
	}
}

// TestParseEnvironment reads the files that HADOOP_CONF_DIR and HADOOP_HOME name.
func TestParseEnvironment(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, "etc", "hadoop")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	type property struct {
		Name  string `xml:"name"`
		Value string `xml:"value"`
	}
	type configuration struct {
		XMLName  xml.Name   `xml:"configuration"`
		Property []property `xml:"property"`
	}
	for file, prefix := range map[string]string{"core-site.xml": "fs.", "hdfs-site.xml": "dfs."} {
		var c configuration
		for key, value := range conf {
			if strings.HasPrefix(key, prefix) {
				c.Property = append(c.Property, property{key, value})
			}
		}
		text, err := xml.Marshal(c)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, file), text, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"HADOOP_CONF_DIR", "HADOOP_HOME"} {
		t.Run(key, func(t *testing.T) {
			t.Setenv("HADOOP_CONF_DIR", "")
			t.Setenv("HADOOP_HOME", "")
			t.Setenv("HADOOP_USER_NAME", "carol")
			t.Setenv(key, map[string]string{"HADOOP_CONF_DIR": dir, "HADOOP_HOME": home}[key])
			o, name, err := Parse("hdfs:///x")
			if err != nil || !reflect.DeepEqual(o.Addresses, []string{"master1:8020", "master2:8020"}) || o.User != "carol" || name != "x" {
				t.Fatalf("%v %s %s, %v", o.Addresses, o.User, name, err)
			}
			options, err := o.library() // which the broken fs.default.name does not break
			if err != nil || !options.UseDatanodeHostname || options.User != "carol" {
				t.Errorf("%+v, %v", options, err)
			}
		})
	}
	if err := os.WriteFile(filepath.Join(dir, "core-site.xml"), []byte("<configuration><prop"), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HADOOP_CONF_DIR", dir)
	if _, _, err := Parse("hdfs:///x"); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("%v, want one that names %s", err, dir)
	}
}

// TestKerberosFiles: what is missing of what Kerberos needs is named, with what to do.
func TestKerberosFiles(t *testing.T) {
	krb5 := filepath.Join(t.TempDir(), "krb5.conf")
	if err := os.WriteFile(krb5, []byte("[libdefaults]\n default_realm = EXAMPLE.COM\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KRB5_CONFIG", krb5)
	t.Setenv("KRB5CCNAME", "FILE:"+filepath.Join(t.TempDir(), "none"))
	for query, want := range map[string]string{
		"keytab=nowhere&principal=me@R": "keytab nowhere", "keytab=nowhere": "want NAME@REALM", "ccache=gone": "tickets gone", "service=nn/_HOST": "kinit",
	} {
		o, _, err := parse("hdfs://nn/x?"+query, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := New(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want one with %q", query, err, want)
		}
	}
	t.Setenv("KRB5_CONFIG", filepath.Join(t.TempDir(), "none"))
	o := Options{Addresses: []string{"nn:8020"}, conf: map[string]string{"hadoop.security.authentication": "kerberos"}}
	if _, err := New(t.Context(), o); err == nil || !strings.Contains(err.Error(), "KRB5_CONFIG") {
		t.Errorf("%v, want that krb5.conf is missing", err)
	}
}

// FuzzParse: whatever an address is, what is made of it can be dialled and named.
func FuzzParse(f *testing.F) {
	for _, address := range []string{"hdfs://nn:9000/models/lr?user=me", "hdfs://a@b,c:1/x", "hdfs:///x", "hdfs://prod/", "hdfs://[::1]:1/x",
		"hdfs://broken/x?replication=3&blocksize=1048576", "hdfs://[\v0"} {
		f.Add(address)
	}
	f.Fuzz(func(t *testing.T, address string) {
		for _, c := range []map[string]string{nil, conf} {
			o, name, err := parse(address, c)
			if err != nil {
				continue
			}
			if name != "" && checkName(name) != nil || len(o.Addresses) == 0 {
				t.Errorf("%q: %q in %v", address, name, o.Addresses)
			}
			again, _, err := parse("hdfs://"+strings.Join(o.Addresses, ",")+"/"+name, nil)
			if err != nil && !strings.Contains(name, "?") || err == nil && !reflect.DeepEqual(again.Addresses, o.Addresses) {
				t.Errorf("%q: %v, then %v, %v", address, o.Addresses, again.Addresses, err)
			}
			for _, host := range o.Addresses {
				if strings.ContainsAny(host, " /@\n") {
					t.Errorf("%q: namenode %q", address, host)
				}
			}
		}
	})
}

// FuzzParseMove: what a lock says is believed only where it is what a publisher would say.
func FuzzParseMove(f *testing.F) {
	f.Add(move{"d/_tmp.s/m", "d/m", "d/_tmp.m.AB"}.String())
	f.Add(`"a" "b" "c"`)
	f.Add(`"../a" "b" "_tmp.b.1"`)
	f.Fuzz(func(t *testing.T, text string) {
		m, ok := parseMove(text)
		if !ok {
			return
		}
		if again, ok := parseMove(m.String()); !ok || again != m {
			t.Errorf("%q: %+v, then %+v", text, m, again)
		}
		if !strings.Contains(m.away, tmpMark) || checkName(m.from) != nil || checkName(m.to) != nil {
			t.Errorf("%q: %+v", text, m)
		}
	})
}

// TestStore opens no bucket for what is no cluster.
func TestStore(t *testing.T) {
	t.Setenv("HADOOP_CONF_DIR", "")
	t.Setenv("HADOOP_HOME", "")
	p := blob.NewPaths(Store(nil))
	for name, want := range map[string]string{"hdfs:///x": "HADOOP_CONF_DIR", "hdfs://nn:x/y": "want HOST:PORT"} {
		if _, err := p.Open(t.Context(), name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want one with %q", name, err, want)
		}
	}
}
