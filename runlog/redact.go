package runlog

import (
	"regexp"
	"strings"
)

// hidden stands where a secret was.
const hidden = "***"

// secretName tells names of flags and settings whose values are nobody else's. Those of files with secrets end in -file, and may be said.
var secretName = regexp.MustCompile(`(?i)(secret|passw(or)?d|passphrase|token|credential|api-?_?key|access-?_?key|private-?_?key|auth)`)

// urlSecret is what comes between a user's name and the host of an address.
var urlSecret = regexp.MustCompile(`(://[^/@\s:]*:)[^/@\s]*@`)

// querySecret is a parameter of an address whose value is a secret.
var querySecret = regexp.MustCompile(`(?i)([?&][^=&\s]*(?:secret|password|token|signature|credential|key)[^=&\s]*=)[^&\s]*`)

// Redact is a command line without what looks like a secret: values of flags and settings that are named like one, and those in
// addresses.
func Redact(args []string) []string {
	out, hide := make([]string, len(args)), false
	for i, arg := range args {
		name, _, given := strings.Cut(arg, "=")
		switch {
		case hide && !strings.HasPrefix(arg, "-"):
			out[i], hide = hidden, false
		case secret(name) && given:
			out[i], hide = name+"="+hidden, false
		default:
			out[i] = RedactText(arg)
			hide = strings.HasPrefix(arg, "-") && secret(arg)
		}
	}
	return out
}

// RedactText is a text without the secrets of addresses in it.
func RedactText(text string) string {
	return querySecret.ReplaceAllString(urlSecret.ReplaceAllString(text, "${1}"+hidden+"@"), "${1}"+hidden)
}

func secret(name string) bool {
	return secretName.MatchString(name) && !strings.HasSuffix(name, "-file") && !strings.ContainsAny(name, "/\\")
}
