package access

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"thole.example/blob"
)

// JobName is the full name of a job. Owner is the name of a token, and empty on a server without tokens.
type JobName struct{ Owner, Name string }

// String is OWNER/NAME, or the name alone if there is no owner.
func (n JobName) String() string {
	if n.Owner == "" {
		return n.Name
	}
	return n.Owner + "/" + n.Name
}

// Scope is which jobs and which paths of the store a token is for.
type Scope struct {
	// Jobs are patterns of the names of jobs: NAME for jobs of the token itself, OWNER/NAME for those of another. "*" stands for any
	// characters but a slash. None: all jobs of the token itself.
	Jobs []string
	// Store are paths from which its jobs may load and to which they may save, with all that is below them. Load are those from which
	// they may only load. Neither: all paths.
	Store []string
	Load  []string
}

const (
	scopeLimit = 64  // patterns or paths of a kind
	wordLimit  = 512 // bytes of one
)

// parsePatterns reads patterns of jobs between commas.
func parsePatterns(text string) ([]string, error) {
	return parseWords(text, func(word string) error {
		if strings.ContainsAny(word, `[]?\`) || strings.Count(word, "/") > 1 || strings.HasPrefix(word, "/") || strings.HasSuffix(word, "/") {
			return errors.New("want a pattern NAME or OWNER/NAME, like ads-*")
		}
		return nil
	})
}

// parsePaths reads paths between commas.
func parsePaths(text string) ([]string, error) {
	return parseWords(text, func(word string) error {
		if clean := blob.Clean(word); clean == ".." || strings.HasPrefix(clean, "../") || strings.HasPrefix(clean, "/") {
			return errors.New("want a path below the server's --store, or a URL, like models/ads/")
		}
		return nil
	})
}

func parseWords(text string, check func(word string) error) ([]string, error) {
	words := strings.Split(text, ",")
	for i, word := range words {
		if len(word) > wordLimit || strings.ContainsAny(word, "#\x00") || !slices.Equal(strings.Fields(word), []string{word}) {
			return nil, fmt.Errorf("%.40q, want 1 to %d bytes without blanks, commas and #", word, wordLimit)
		}
		if err := check(word); err != nil {
			return nil, fmt.Errorf("%.40q: %w", word, err)
		}
		if slices.Contains(words[:i], word) {
			return nil, fmt.Errorf("%.40q a second time", word)
		}
	}
	if len(words) > scopeLimit {
		return nil, fmt.Errorf("%d words, want at most %d", len(words), scopeLimit)
	}
	return words, nil
}

// below reports whether a path is one of the roots or below one.
func below(name string, roots []string) bool {
	return slices.ContainsFunc(roots, func(root string) bool {
		_, inside := blob.Rel(root, name)
		return inside
	})
}

// Terms are what the tokens of one name allow. They are replaced when the list changes and never changed themselves, so that two equal
// pointers are equal terms. Nil terms, of a server without tokens, allow everything.
type Terms struct {
	Rights Right
	Scope  Scope
	owner  string
	listed bool
}

// Job is the full name of the job that the holder of a token calls text: NAME is one of its own, OWNER/NAME that of another.
func (t *Terms) Job(text string) JobName {
	if t == nil {
		return JobName{Name: text}
	}
	if owner, name, is := strings.Cut(text, "/"); is {
		return JobName{owner, name}
	}
	return JobName{t.owner, text}
}

// CheckJob returns a *ScopeError for a job that the token is not for, whether there is such a job or not.
func (t *Terms) CheckJob(n JobName) error {
	switch {
	case t == nil || t.Rights&Administer != 0 && !strings.Contains(n.Name, "/"):
		return nil
	case strings.Contains(n.Name, "/"):
	case len(t.Scope.Jobs) == 0:
		if n.Owner == t.owner {
			return nil
		}
	default:
		for _, pattern := range t.Scope.Jobs {
			if !strings.Contains(pattern, "/") {
				pattern = t.owner + "/" + pattern
			}
			if is, _ := blob.Match(pattern, n.String()); is { // patterns were checked
				return nil
			}
		}
	}
	want := "a job of its own, with a name without slashes"
	if len(t.Scope.Jobs) > 0 {
		want = "jobs=" + strings.Join(t.Scope.Jobs, ",")
	}
	return &ScopeError{fmt.Sprintf("job %q", n), want}
}

// CheckPath returns a *ScopeError for a path of the store that the token is not for. A path to write to is one to load from too.
func (t *Terms) CheckPath(name string, write bool) error {
	if t == nil {
		return nil
	}
	s := &t.Scope
	switch {
	case t.listed && len(s.Store)+len(s.Load) == 0, below(name, s.Store), !write && below(name, s.Load):
		return nil
	case !t.listed:
		return &ScopeError{fmt.Sprintf("path %q", name), "a token that the list still has"}
	}
	var want []string
	if len(s.Store) > 0 {
		want = append(want, "store="+strings.Join(s.Store, ","))
	}
	if len(s.Load) > 0 {
		want = append(want, "load="+strings.Join(s.Load, ","))
	}
	return &ScopeError{fmt.Sprintf("path %q", name), strings.Join(want, " ")}
}

// equal reports whether two terms allow the same.
func (t *Terms) equal(o *Terms) bool {
	return t.Rights == o.Rights && t.owner == o.owner && t.listed == o.listed && slices.Equal(t.Scope.Jobs, o.Scope.Jobs) &&
		slices.Equal(t.Scope.Store, o.Scope.Store) && slices.Equal(t.Scope.Load, o.Scope.Load)
}
