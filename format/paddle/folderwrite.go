package paddle

import (
	"context"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/matrix"
	"thole.example/program"
)

// createSeparate writes a folder with a file for each matrix, and the small files beside them.
func createSeparate(ctx context.Context, b blob.Bucket, to string, ms []matrix.Meta, o format.Options) (format.Writer, error) {
	w := newBundle(b, to, &o)
	vars := make([]written, len(ms))
	for i := range ms {
		if err := w.claim(ms[i].Name); err != nil {
			return nil, err
		}
		var err error
		if vars[i], err = w.addOwn(ctx, &ms[i], o); err != nil {
			w.Abort(ctx)
			return nil, err
		}
	}
	if _, err := w.keepTopology(ctx, vars, false, &o); err != nil {
		w.Abort(ctx)
		return nil, err
	}
	return w, nil
}

// addOwn begins the file of one matrix: a stream, or rows if it has not all of them.
func (w *bundle) addOwn(ctx context.Context, m *matrix.Meta, o format.Options) (v written, err error) {
	file := w.stage.Name(m.Name)
	if m.Saved != nil {
		one, r, err := createRows(ctx, w.stage.Bucket, file, m, o)
		v = r.variable()
		v.Kind, v.rows = program.VarType_SELECTED_ROWS, 0
		for _, saved := range m.Saved {
			v.rows += saved.Len()
		}
		return v, w.add(one, err, m.Name)
	}
	f, records, err := planStreams([]matrix.Meta{*m}, &o)
	if err != nil {
		return v, err
	}
	one, err := newWriter(ctx, w.stage.Bucket, file, o, f, records)
	return records[0].variable(), w.add(one, err, m.Name)
}

// createCombined writes a folder with a topology and one file.
func createCombined(ctx context.Context, b blob.Bucket, to string, ms []matrix.Meta, o format.Options) (format.Writer, error) {
	w := newBundle(b, to, &o)
	f, records, err := planStreams(sortedMetas(ms), &o)
	if err != nil {
		return nil, err
	}
	vars, names := make([]written, len(records)), make([]string, len(records))
	for i, r := range records {
		vars[i], names[i] = r.variable(), r.name
	}
	file, err := w.keepTopology(ctx, vars, true, &o)
	if err != nil {
		return nil, err
	}
	one, err := newWriter(ctx, w.stage.Bucket, w.stage.Name(file), o, f, records)
	if err := w.add(one, err, names...); err != nil {
		w.Abort(ctx)
		return nil, err
	}
	return w, nil
}

// variable is what a topology says of the record.
func (r *record) variable() written {
	v := program.Var{Name: r.name, Kind: program.VarType_DENSE_TENSOR, Typed: true, Elem: program.VarType_Type(r.code),
		Dims: r.dims, LoDLevel: len(r.lod), Persistable: true, Parameter: true}
	return written{v, -1}
}
