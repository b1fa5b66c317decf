package paddle

import (
	"strconv"

	"thole.example/format"
)

func (m *pickle) tuple(items []any) {
	m.objects++
	m.push(&tuple{items})
}

func (m *pickle) tupleOf(n int) {
	items := make([]any, n)
	for i := n - 1; i >= 0; i-- {
		items[i] = m.pop()
	}
	if m.s.err == nil {
		m.tuple(items)
	}
}

func (m *pickle) list(items []any) {
	m.objects++
	m.push(&list{items})
}

// extend appends to the list on the stack.
func (m *pickle) extend(items []any) {
	to := top[*list](m)
	if m.s.err == nil {
		m.objects += len(items)
		to.items = append(to.items, items...)
	}
}

func (m *pickle) dict(items []any) {
	m.objects++
	m.push(&dict{names: map[string]int{}})
	m.fill(items)
}

// fill puts keys and values, in turn, into the dictionary on the stack.
func (m *pickle) fill(items []any) {
	to := top[*dict](m)
	if m.s.err == nil {
		m.fillDict(to, items)
	}
}

func (m *pickle) fillDict(to *dict, items []any) {
	if len(items)%2 != 0 {
		m.fail("a key without a value")
		return
	}
	for i := 0; i < len(items); i += 2 {
		key, ok := word(items[i])
		n, number := items[i].(int64)
		if number {
			key, ok = strconv.FormatInt(n, 10), true
		}
		if !ok {
			m.fail("%s as a key, want a text of at most %d bytes or a number", kindOf(items[i]), maxHeld)
			return
		}
		if _, twice := to.names[key]; twice {
			m.fail("key %.80q twice in a dictionary", key)
			return
		}
		if number = number && n >= 0; number {
			to.digits = max(to.digits, len(key))
		}
		m.objects += 2
		to.names[key] = len(to.items)
		to.items = append(to.items, pair{key, number, items[i+1]})
	}
}

// get finds the value of a key.
func (d *dict) get(key string) (any, bool) {
	i, ok := d.names[key]
	if !ok {
		return nil, false
	}
	return d.items[i].value, true
}

// put remembers the topmost value. Places come in order, from 0 or from 1 on.
func (m *pickle) put(at int64) {
	v := m.peek()
	if m.s.err != nil {
		return
	}
	m.said = strconv.FormatInt(at, 10)
	switch n := int64(len(m.memo)); {
	case at < n:
		m.memo[at] = v
		return
	case at == n+1:
		m.memo = append(m.memo, hole{})
	case at > n:
		m.fail("value remembered at place %d, want at most %d", at, n+1)
		return
	}
	m.objects++
	m.memo = append(m.memo, v)
}

// get pushes what was remembered.
func (m *pickle) get(at int64) {
	if m.s.err != nil {
		return
	}
	m.said = strconv.FormatInt(at, 10)
	if at >= int64(len(m.memo)) || m.memo[at] == any(hole{}) {
		m.fail("nothing was remembered at place %d", at)
		return
	}
	m.push(m.memo[at])
}

// reduce stands for calling fn with the arguments: it makes the value that the known ones would give.
func (m *pickle) reduce(fn, args any) {
	if m.s.err != nil {
		return
	}
	f, ok := fn.(global)
	in, isTuple := args.(*tuple)
	if !ok || !isTuple {
		m.fail("REDUCE of %s and %s, want a global and a tuple", kindOf(fn), kindOf(args))
		return
	}
	m.said = f.name
	v, ok := m.call(f.name, in.items)
	if !ok && m.s.err == nil {
		m.fail("%w", &GlobalError{f.module + "." + f.name, "with arguments that arrays and dictionaries do not have"})
	}
	m.objects++
	m.push(v)
}

// call is reduce for each name of a global; ok is false for arguments that it is never given.
func (m *pickle) call(f string, args []any) (v any, ok bool) {
	switch f {
	case "_reconstruct":
		return m.callReconstruct(args)
	case "scalar":
		return m.callScalar(args)
	case "_frombuffer":
		return m.callFromBuffer(args)
	case "dtype":
		return m.callType(args)
	case "encode":
		return callEncode(args)
	case "bytes":
		return payload{}, len(args) == 0
	case "OrderedDict", "dict":
		return m.callDict(args)
	case "tuple", "list":
		return callSequence(f, args)
	case "eval":
		return callEval(args)
	case "_reconstruct_dense_tensor_data":
		if len(args) != 1 {
			return nil, false
		}
		a, ok := args[0].(*ndarray)
		return a, ok
	}
	return nil, false
}

// callEncode is _codecs.encode(text, "latin1"), the form that bytes have in protocol 2.
func callEncode(args []any) (any, bool) {
	if len(args) != 2 {
		return nil, false
	}
	t, ok := args[0].(*text)
	code, named := word(args[1])
	if !ok || !t.unicode || !named || code != "latin1" && code != "latin-1" {
		return nil, false
	}
	return payload{off: t.off, n: t.n, latin: true}, true
}

// callDict is dict() or OrderedDict(), also with a list of pairs.
func (m *pickle) callDict(args []any) (any, bool) {
	d := &dict{names: map[string]int{}}
	if len(args) == 0 {
		return d, true
	}
	l, ok := args[0].(*list)
	if !ok || len(args) > 1 {
		return nil, false
	}
	for _, item := range l.items {
		p, ok := itemsOf(item)
		if !ok || len(p) != 2 {
			return nil, false
		}
		m.fillDict(d, p)
	}
	return d, true
}

// itemsOf are the items of a list or tuple.
func itemsOf(v any) ([]any, bool) {
	switch v := v.(type) {
	case *list:
		return v.items, true
	case *tuple:
		return v.items, true
	}
	return nil, false
}

func callSequence(f string, args []any) (any, bool) {
	var items []any
	if len(args) > 0 {
		var ok bool
		if items, ok = itemsOf(args[0]); !ok || len(args) > 1 {
			return nil, false
		}
	}
	if f == "list" {
		return &list{append([]any(nil), items...)}, true
	}
	return &tuple{append([]any(nil), items...)}, true
}

// callEval knows one expression: eval("data", {"data": array}), which older releases wrote for a tensor. It is the array.
func callEval(args []any) (any, bool) {
	if len(args) != 2 {
		return nil, false
	}
	expression, _ := word(args[0])
	names, ok := args[1].(*dict)
	if !ok || expression != "data" || len(names.items) != 1 {
		return nil, false
	}
	v, _ := names.get("data")
	a, ok := v.(*ndarray)
	return a, ok
}

// build gives the topmost value its state.
func (m *pickle) build(state any) {
	in, ok := state.(*tuple)
	v := m.peek()
	if m.s.err != nil {
		return
	}
	if !ok {
		m.fail("BUILD with %s, want a tuple", kindOf(state))
		return
	}
	switch v := v.(type) {
	case *ndarray:
		m.buildArray(v, in.items)
	case *numpyType:
		m.buildType(v, in.items)
	default:
		m.fail("BUILD of %s, want of an array or an element type: %w", kindOf(v), format.ErrCorrupt)
	}
}
