package access

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// Table is the tokens that a server knows. It may be used by many goroutines.
type Table struct {
	mu     sync.RWMutex
	grants map[[idSize]byte]*Grant
}

// Grant is a token in use. A nil Grant is of a server that asks for no tokens: it allows everything.
type Grant struct {
	name    string
	hash    Hash
	rights  atomic.Uint32
	account *Account
	gone    chan struct{}
}

// NewTable is a table of the tokens.
func NewTable(tokens []Token) *Table {
	t := &Table{}
	t.Replace(tokens)
	return t
}

// Replace makes the tokens those of the table. One that stays, by name and secret, has its new rights and limits at once, and
// goes on counting; one that is not there any more is gone.
func (t *Table) Replace(tokens []Token) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.grants
	t.grants = make(map[[idSize]byte]*Grant, len(tokens))
	for _, one := range tokens {
		id := [idSize]byte(one.Hash.id())
		g := before[id]
		if g == nil || g.name != one.Name {
			g = &Grant{name: one.Name, hash: one.Hash, account: NewAccount("token", one.Limits), gone: make(chan struct{})}
		} else {
			delete(before, id)
		}
		g.rights.Store(uint32(one.Rights))
		g.account.limits.Store(&one.Limits)
		t.grants[id] = g
	}
	for _, g := range before {
		close(g.gone)
	}
}

// nobody is whom a proof is compared with that names no token, so that it costs the same time.
var nobody = Hash{1}

// Prove is the token that the proof is of, nil if it is of none.
func (t *Table) Prove(p Proof, challenge [ChallengeSize]byte, binding []byte) *Grant {
	g := t.find(p[:idSize])
	hash := nobody
	if g != nil {
		hash = g.hash
	}
	if !hash.proven(p, challenge, binding) {
		return nil
	}
	return g
}

// Holder is the token of the secret, nil if there is none.
func (t *Table) Holder(s Secret) *Grant {
	var none [ChallengeSize]byte
	return t.Prove(s.Prove(none, nil), none, nil)
}

func (t *Table) find(id []byte) *Grant {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.grants[[idSize]byte(id)]
}

// Grants are all tokens, by name. A nil Table has none.
func (t *Table) Grants() []*Grant {
	if t == nil {
		return nil
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.SortedFunc(maps.Values(t.grants), func(a, b *Grant) int { return cmp.Compare(a.name, b.name) })
}

// Name is the token's name, "" of a nil Grant.
func (g *Grant) Name() string {
	if g == nil {
		return ""
	}
	return g.name
}

// Rights are what it allows now.
func (g *Grant) Rights() Right {
	if g == nil {
		return Read | Write | Administer
	}
	return Right(g.rights.Load())
}

// Check says which right is missing of those needed, as a *LackError.
func (g *Grant) Check(need Right) error {
	if has := g.Rights(); !has.Has(need) {
		if has&Write != 0 {
			has |= Read
		}
		return &LackError{need &^ has}
	}
	return nil
}

// Account counts what the holders of the token use; nil of a nil Grant.
func (g *Grant) Account() *Account {
	if g == nil {
		return nil
	}
	return g.account
}

// Gone is closed when the token is not in the table any more; nil of a nil Grant.
func (g *Grant) Gone() <-chan struct{} {
	if g == nil {
		return nil
	}
	return g.gone
}
