package access

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
)

// Table is the tokens that a server knows, and the owners of its jobs. It may be used by many goroutines.
type Table struct {
	mu     sync.RWMutex
	grants map[[idSize]byte]*Grant
	owners map[string]*Owner // also of tokens that are gone, whose jobs may still run: they have no rights
}

// Owner is all tokens of one name. A nil Owner is that of all jobs of a server without tokens: nothing bounds it.
type Owner struct {
	name    string
	terms   atomic.Pointer[Terms]
	account *Account
}

// Grant is a token in use. A nil Grant is of a server without tokens: it allows everything.
type Grant struct {
	owner *Owner
	key   Key
	gone  chan struct{}
}

// NewTable is a table of the tokens.
func NewTable(tokens []Token) *Table {
	t := &Table{}
	t.Replace(tokens)
	return t
}

// Replace makes the tokens those of the table. What an owner uses stays counted; its rights, scope and limits are the new ones at once.
// A key that is not there any more is gone, even if its owner has others.
func (t *Table) Replace(tokens []Token) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.grants
	t.grants = make(map[[idSize]byte]*Grant, len(tokens))
	listed := map[string]bool{}
	for i := range tokens {
		one := &tokens[i]
		id := one.Key.id()
		o := t.owner(one.Name)
		g := before[id]
		if g == nil || g.owner != o {
			g = &Grant{owner: o, key: one.Key, gone: make(chan struct{})}
		} else {
			delete(before, id)
		}
		if terms := one.terms(); !o.terms.Load().equal(terms) {
			o.terms.Store(terms)
		}
		o.account.limits.Store(&one.Limits)
		t.grants[id], listed[one.Name] = g, true
	}
	for _, g := range before {
		close(g.gone)
	}
	for name, o := range t.owners {
		if !listed[name] {
			o.terms.Store(&Terms{owner: name})
		}
	}
}

// owner returns the owner of a name. It adds one without rights if the name is new. The table is locked.
func (t *Table) owner(name string) *Owner {
	o := t.owners[name]
	if o == nil {
		o = &Owner{name: name, account: NewAccount("token", Limits{})}
		o.terms.Store(&Terms{owner: name})
		if t.owners == nil {
			t.owners = map[string]*Owner{}
		}
		t.owners[name] = o
	}
	return o
}

// Owner is the owner of the name, who may have no token in the list. It is nil for a nil Table and for no name.
func (t *Table) Owner(name string) *Owner {
	if t == nil || name == "" {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.owner(name)
}

// Prove is the token that the proof is of, nil if it is of none.
func (t *Table) Prove(p Proof, challenge [ChallengeSize]byte, binding []byte) *Grant {
	g := t.find([idSize]byte(p[:idSize]))
	var key Key // of no secret: a proof that names no token takes the same time
	if g != nil {
		key = g.key
	}
	if !key.verify(p, challenge, binding) || g == nil {
		return nil
	}
	return g
}

// Holder is the token of the secret, nil if there is none.
func (t *Table) Holder(s Secret) *Grant { return t.find(s.Key().id()) }

func (t *Table) find(id [idSize]byte) *Grant {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.grants[id]
}

// Owners are the owners that have tokens in the list, by name. A nil Table has none.
func (t *Table) Owners() (all []*Owner) {
	if t == nil {
		return nil
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, name := range slices.Sorted(maps.Keys(t.owners)) {
		if o := t.owners[name]; o.terms.Load().listed {
			all = append(all, o)
		}
	}
	return all
}

// Grants are all tokens, by name. A nil Table has none.
func (t *Table) Grants() []*Grant {
	if t == nil {
		return nil
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	return slices.SortedFunc(maps.Values(t.grants), func(a, b *Grant) int {
		return cmp.Or(cmp.Compare(a.owner.name, b.owner.name), slices.Compare(a.key[:], b.key[:]))
	})
}

// Name is the name of its tokens, "" of a nil Owner.
func (o *Owner) Name() string {
	if o == nil {
		return ""
	}
	return o.name
}

// Terms are what its tokens allow now; nil of a nil Owner.
func (o *Owner) Terms() *Terms {
	if o == nil {
		return nil
	}
	return o.terms.Load()
}

// Account counts what its jobs use; nil of a nil Owner.
func (o *Owner) Account() *Account {
	if o == nil {
		return nil
	}
	return o.account
}

// Owner is the owner of the jobs that are started with the token; nil of a nil Grant.
func (g *Grant) Owner() *Owner {
	if g == nil {
		return nil
	}
	return g.owner
}

// Name is the token's name, "" of a nil Grant.
func (g *Grant) Name() string { return g.Owner().Name() }

// Terms are what the token allows now; nil of a nil Grant.
func (g *Grant) Terms() *Terms { return g.Owner().Terms() }

// Rights are what it allows now.
func (g *Grant) Rights() Right {
	if g == nil {
		return Read | Write | Administer
	}
	return g.Terms().Rights
}

// Check returns a *LackError that names the rights which are missing of those needed.
func (g *Grant) Check(need Right) error {
	if has := g.Rights(); !has.Has(need) {
		if has&Write != 0 {
			has |= Read
		}
		return &LackError{need &^ has}
	}
	return nil
}

// Account counts what the owner's jobs use; nil of a nil Grant.
func (g *Grant) Account() *Account { return g.Owner().Account() }

// Gone is closed when the token is not in the table any more; nil of a nil Grant.
func (g *Grant) Gone() <-chan struct{} {
	if g == nil {
		return nil
	}
	return g.gone
}
