package paddle

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"thole.example/blob"
	"thole.example/dump"
	"thole.example/format"
	"thole.example/pack"
	"thole.example/program"
	"thole.example/wire"
)

// own is a layout of files that hold one variable, which has the name of the file.
type own struct {
	name  string
	bare  bool // the file says nothing of the shape: only for folders without a topology
	rows  bool // it holds some rows of the variable
	like  func(head []byte, size int64) bool
	walk  func(l *listing)
	never program.VarType_Type // the kind of variables that it never holds
}

// owns is the table of these layouts, in the order in which they are tried.
func owns() []own {
	return []own{
		{name: streamsName, like: likeStream, walk: walkOwn, never: program.VarType_SELECTED_ROWS},
		{name: layoutB.name, like: layoutB.like, walk: layoutB.walk, never: program.VarType_SELECTED_ROWS},
		{name: selectedRows.name, rows: true, like: likeRows, walk: walkRows},
		{name: v2Param.name, bare: true, like: likeV2, walk: walkV2},
	}
}

// walkOwn walks over a stream that is alone in its file.
func walkOwn(l *listing) {
	l.head("variable %q", l.ownName())
	r := walkStream(l, l.ownName())
	l.addUnnamed(r)
	l.end("the values")
}

// listOwn walks over a file that holds one variable. v is what the topology says of it; nil: there is none.
func listOwn(file string, obj blob.Object, variable string, v *program.Var, p *dump.Printer) (*listing, error) {
	head := make([]byte, min(headBytes, obj.Size()))
	if err := readAt(obj, head, 0); err != nil {
		return nil, err
	}
	var near error
	for _, y := range owns() {
		if !y.like(head, obj.Size()) || y.bare && v != nil || v != nil && v.Typed && v.Kind == y.never {
			continue
		}
		l := newListing(obj, file, nil)
		l.variable = variable
		y.walk(l)
		err := l.scan.err
		if err == nil && v != nil && len(l.tensors) > 0 {
			l.checkVar(v, &l.tensors[0], 0)
			err = l.scan.err
		}
		if err == nil && p != nil {
			l = newListing(obj, file, p)
			l.variable = variable
			y.walk(l)
		}
		if l.layouts = []string{y.name}; err == nil {
			return l, l.scan.err
		}
		if near == nil {
			near = l.scan.err
		}
	}
	if near == nil {
		near = fmt.Errorf("%d bytes that begin with % x, want a variable: %w", obj.Size(), head[:min(len(head), 16)], format.ErrUnknown)
	}
	return nil, near
}

// newListing begins a walk over an object.
func newListing(obj blob.Object, file string, p *dump.Printer) *listing {
	return &listing{scan: &scan{r: obj, size: obj.Size(), order: wire.Little, print: p}, named: map[string]int{}, file: blob.Base(file)}
}

// listFiles walks over a folder of which every file holds one variable.
func listFiles(ctx context.Context, b blob.Bucket, dir string) (*listing, error) {
	infos, err := b.List(ctx, dir)
	if err != nil {
		return nil, err
	}
	manifest, err := pack.Read(ctx, b, dir)
	if err != nil {
		return nil, err
	}
	all := &listing{scan: &scan{}, named: map[string]int{}}
	for _, i := range infos { // some, or there were no folder
		if manifest != nil && i.Name == dir+"/"+pack.Name {
			continue
		}
		if err := all.join(ctx, b, i.Name, strings.TrimPrefix(i.Name, dir+"/"), nil); err != nil {
			return all, err
		}
	}
	return all, nil
}

// join adds the variable that another file holds.
func (l *listing) join(ctx context.Context, b blob.Bucket, file, variable string, v *program.Var) error {
	obj, err := newReopening(ctx, b, file)
	if err != nil {
		return format.Wrap(name, file, err)
	}
	defer obj.release()
	one, err := listOwn(file, obj, variable, v, nil)
	if err != nil {
		return format.Wrap(name, file, err)
	}
	for _, t := range one.tensors {
		l.named[t.meta.Name] = len(l.tensors)
		l.tensors = append(l.tensors, t)
	}
	for _, n := range one.notes {
		l.note("%s: %s", file, n)
	}
	if !slices.Contains(l.layouts, one.layouts[0]) {
		l.layouts = append(l.layouts, one.layouts[0])
	}
	return nil
}
