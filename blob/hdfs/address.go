package hdfs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"os/user"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	lib "github.com/colinmarc/hdfs/v2"
	"github.com/colinmarc/hdfs/v2/hadoopconf"
	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/keytab"

	"thole.example/blob"
)

// namenodePort is that of a namenode that is named without one.
const namenodePort = "8020"

// Store is where URLs of the scheme hdfs lead: hdfs://[USER@]HOST[:PORT][,HOST[:PORT]]/…, hdfs://NAMESERVICE/…, or hdfs:///… of the cluster
// that HADOOP_CONF_DIR describes. tell is Options.Tell.
func Store(tell func(text string)) blob.Store {
	return blob.Store{Scheme: "hdfs", Open: func(ctx context.Context, authority string) (blob.Bucket, error) {
		o, _, err := Parse("hdfs://" + authority + "/")
		if err != nil {
			return nil, err
		}
		o.Tell = tell
		return New(ctx, o)
	}}
}

// Parse gives the options that a URL says, and the name below the root of the file system, with the configuration of Hadoop that the
// environment names: HADOOP_CONF_DIR, or etc/hadoop or conf in HADOOP_HOME. The user is that of the URL ("user@" or "?user="), else
// HADOOP_USER_NAME, else the one of this process.
func Parse(address string) (Options, string, error) {
	conf, err := configuration()
	if err != nil {
		return Options{}, "", err
	}
	o, name, err := parse(address, conf)
	if err != nil {
		return o, "", err
	}
	if o.User = cmp.Or(o.User, os.Getenv("HADOOP_USER_NAME")); o.User == "" {
		if u, err := user.Current(); err == nil {
			o.User = u.Username
		}
	}
	return o, name, nil
}

// configuration reads the configuration of Hadoop; nil if the environment names none.
func configuration() (map[string]string, error) {
	dirs := []string{os.Getenv("HADOOP_CONF_DIR")}
	if home := os.Getenv("HADOOP_HOME"); home != "" {
		dirs = append(dirs, filepath.Join(home, "etc", "hadoop"), filepath.Join(home, "conf"))
	}
	for _, dir := range dirs {
		if dir == "" {
			continue
		}
		conf, err := hadoopconf.Load(dir)
		if err != nil {
			return nil, fmt.Errorf("hdfs: the configuration of Hadoop: %w", err)
		}
		if conf != nil {
			return conf, nil
		}
	}
	return nil, nil
}

// settings are the parameters of a URL.
var settings = map[string]func(o *Options, value string) error{
	"user":        func(o *Options, v string) error { o.User = v; return nil },
	"replication": func(o *Options, v string) (err error) { o.Replication, err = number(v, 1, 512); return err },
	"blocksize":   func(o *Options, v string) (err error) { o.BlockSize, err = blockSize(v); return err },
	"keytab":      func(o *Options, v string) error { o.kerberos().Keytab = v; return nil },
	"principal":   func(o *Options, v string) error { o.kerberos().Principal = v; return nil },
	"ccache":      func(o *Options, v string) error { o.kerberos().Cache = v; return nil },
	"service":     func(o *Options, v string) error { o.kerberos().Service = v; return nil },
}

func number(text string, low, high int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("%q, want a number from %d to %d", text, low, high)
	}
	return n, nil
}

// blockSize is one that HDFS takes: full checksum chunks of 512 bytes.
func blockSize(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1<<20 || n > 1<<40 || n%512 != 0 {
		return 0, fmt.Errorf("%q, want a multiple of 512 from %d to %d", text, 1<<20, 1<<40)
	}
	return n, nil
}

// parse takes a URL apart.
func parse(address string, conf map[string]string) (o Options, name string, err error) {
	fail := func(format string, args ...any) (Options, string, error) {
		return Options{}, "", fmt.Errorf("hdfs: %q: "+format, append([]any{address}, args...)...)
	}
	rest, is := strings.CutPrefix(address, "hdfs://")
	if !is {
		return fail("want hdfs://HOST:PORT/PATH, hdfs://NAMESERVICE/PATH or hdfs:///PATH")
	}
	rest, query, _ := strings.Cut(rest, "?")
	authority, name, _ := strings.Cut(rest, "/")
	if name = strings.Trim(name, "/"); name != "" && checkName(name) != nil {
		return fail("path %q: %w", name, blob.ErrName)
	}
	o = Options{conf: conf, Umask: umask(conf)}
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		if o.User, authority = authority[:at], authority[at+1:]; o.User == "" {
			return fail("no user before @")
		}
	}
	if o.Addresses, err = namenodes(authority, conf); err != nil {
		return fail("%w", err)
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return fail("%w", err)
	}
	for key, value := range values {
		set := settings[key]
		if set == nil {
			return fail("parameter %q, want one of %s", key, strings.Join(slices.Sorted(maps.Keys(settings)), ", "))
		}
		if len(value) != 1 || value[0] == "" {
			return fail("parameter %s: want one value", key)
		}
		if err := set(&o, value[0]); err != nil {
			return fail("parameter %s: %w", key, err)
		}
	}
	return o, name, nil
}

// umask is what the configuration takes from the permissions of new files and folders.
func umask(conf map[string]string) os.FileMode {
	if n, err := strconv.ParseUint(conf["fs.permissions.umask-mode"], 8, 9); err == nil {
		return os.FileMode(n)
	}
	return 0o022
}

// namenodes are the addresses that an authority means: itself, hosts with commas between them, or a nameservice of the configuration. An
// empty one means the file system that is the default there.
func namenodes(authority string, conf map[string]string) ([]string, error) {
	if authority == "" {
		text := cmp.Or(conf["fs.defaultFS"], conf["fs.default.name"])
		if text == "" {
			return nil, errors.New("no namenode: want a host, or HADOOP_CONF_DIR with fs.defaultFS in core-site.xml")
		}
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "hdfs" || u.Host == "" {
			return nil, fmt.Errorf("fs.defaultFS is %q, want hdfs://HOST:PORT", text)
		}
		authority = u.Host
	}
	if members := conf["dfs.ha.namenodes."+authority]; members != "" {
		var found []string
		for _, m := range strings.Split(members, ",") {
			key := "dfs.namenode.rpc-address." + authority + "." + strings.TrimSpace(m)
			if conf[key] == "" {
				return nil, fmt.Errorf("nameservice %s: no %s in hdfs-site.xml", authority, key)
			}
			found = append(found, conf[key])
		}
		return withPorts(found)
	}
	if only := conf["dfs.namenode.rpc-address."+authority]; only != "" { // a nameservice without a second namenode
		return withPorts([]string{only})
	}
	return withPorts(strings.Split(authority, ","))
}

func withPorts(hosts []string) ([]string, error) {
	var found []string
	for _, host := range hosts {
		host = strings.TrimSpace(host)
		name, port, err := net.SplitHostPort(host)
		if err != nil {
			name, port = strings.Trim(host, "[]"), namenodePort
		}
		if n, err := number(port, 1, 65535); name == "" || err != nil || port != strconv.Itoa(n) || strings.ContainsFunc(name, notOfHost) ||
			strings.Contains(name, ":") && net.ParseIP(name) == nil {
			return nil, fmt.Errorf("namenode %q, want HOST:PORT", host)
		}
		found = append(found, net.JoinHostPort(name, port))
	}
	return found, nil
}

// notOfHost reports whether a letter can be in no name or address of a host.
func notOfHost(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("-._:", r)
}

// Kerberos says how this process shows who it is, to a cluster that wants to see it: by a keytab, or by the tickets that kinit got.
type Kerberos struct {
	Principal string // NAME@REALM; with a keytab
	Keytab    string // file
	Cache     string // file of tickets; "": $KRB5CCNAME, or what kinit writes without it
	Config    string // file; "": $KRB5_CONFIG, or /etc/krb5.conf
	Service   string // of the namenode, as nn/_HOST; "": dfs.namenode.kerberos.principal of the configuration, or that
}

func (o *Options) kerberos() *Kerberos {
	if o.Kerberos == nil {
		o.Kerberos = &Kerberos{}
	}
	return o.Kerberos
}

// library makes the options of the library.
func (o Options) library() (lib.ClientOptions, error) {
	conf := hadoopconf.HadoopConf{}
	for key, value := range o.conf {
		if !strings.HasPrefix(key, "fs.default") { // of which it wants all to be URLs, and panics
			conf[key] = value
		}
	}
	options := lib.ClientOptionsFromConf(conf)
	options.Addresses, options.User = o.Addresses, o.User
	if conf["dfs.encrypt.data.transfer"] != "true" {
		var err error
		if options.DataTransferProtection, err = protection(conf["dfs.data.transfer.protection"]); err != nil {
			return options, err
		}
	}
	if options.KerberosClient == nil && o.Kerberos == nil {
		if o.User == "" {
			return options, errors.New("hdfs: no user: name one in the URL (hdfs://USER@HOST:PORT/…) or by HADOOP_USER_NAME")
		}
		return options, nil
	}
	k := *o.kerberos()
	krb, err := k.login()
	if err != nil {
		return options, fmt.Errorf("hdfs: Kerberos: %w", err)
	}
	options.KerberosClient = krb
	options.KerberosServicePrincipleName = cmp.Or(k.Service, options.KerberosServicePrincipleName, "nn/_HOST")
	return options, nil
}

// protection is that of what goes to the datanodes, by the list of what the cluster allows. The library takes what a datanode offers first,
// wants at least what it is told, and cannot read what is signed or encrypted (ADR 41).
func protection(list string) (string, error) {
	list = strings.ToLower(list)
	switch {
	case list == "":
		return "", nil
	case strings.Contains(list, lib.DataTransferProtectionAuthentication):
		return lib.DataTransferProtectionAuthentication, nil
	}
	return "", fmt.Errorf("hdfs: dfs.data.transfer.protection is %s: %w: want authentication among what is allowed",
		list, errors.ErrUnsupported)
}

// login gets what the keytab or the tickets are good for.
func (k Kerberos) login() (*client.Client, error) {
	file := cmp.Or(k.Config, os.Getenv("KRB5_CONFIG"), "/etc/krb5.conf")
	conf, err := config.Load(file)
	if err != nil {
		return nil, fmt.Errorf("%w (KRB5_CONFIG names another)", err)
	}
	if k.Keytab != "" {
		name, realm, ok := strings.Cut(k.Principal, "@")
		if !ok || name == "" || realm == "" {
			return nil, fmt.Errorf("principal %q of the keytab %s, want NAME@REALM", k.Principal, k.Keytab)
		}
		tab, err := keytab.Load(k.Keytab)
		if err != nil {
			return nil, fmt.Errorf("keytab %s: %w", k.Keytab, err)
		}
		return client.NewWithKeytab(name, realm, tab, conf, client.DisablePAFXFAST(true)), nil
	}
	cache := cmp.Or(k.Cache, strings.TrimPrefix(os.Getenv("KRB5CCNAME"), "FILE:"), path.Join("/tmp", fmt.Sprintf("krb5cc_%d", os.Getuid())))
	tickets, err := credentials.LoadCCache(cache)
	if err != nil {
		return nil, fmt.Errorf("tickets %s: %w (kinit gets some; ?keytab=FILE&principal=NAME@REALM does without)", cache, err)
	}
	return client.NewFromCCache(tickets, conf, client.DisablePAFXFAST(true))
}
