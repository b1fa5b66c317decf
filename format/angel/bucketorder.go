package angel

import (
	"bufio"
	"cmp"
	"context"
	"io"
	"slices"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/wire"
)

// Angel 2.0 to 2.2 saves the rows of a partition in the order of the hash table that holds them, which is not ascending where
// ids of a later row block pass a multiple of the table's size. From 2.3.0 on rows are saved in ascending order.

// countsOneRow reports whether nnz of the partitions is the size of a single row, as those versions have it; later it is the
// sum over all rows.
func (m *matrixMeta) countsOneRow(metaName string) bool {
	if m.origin != fromJSON || m.version > 0 || metaName != "meta" {
		return false
	}
	for i := range m.parts {
		p := &m.parts[i]
		sum := int64(0)
		for _, r := range p.rowMetas.all() {
			sum += int64(max(0, r.n))
		}
		if p.nnz >= 0 && p.nnz < sum {
			return true
		}
	}
	return false
}

// inBuckets puts rows that ascend into the order of Java's ConcurrentHashMap: 16 buckets, twice as many whenever three
// quarters of them are taken, and an id in the bucket of its remainder.
func inBuckets(rows []rowMeta) []rowMeta {
	buckets := int32(16)
	for int64(len(rows)) >= int64(buckets)*3/4 && buckets < 1<<30 {
		buckets *= 2
	}
	bucket := func(id int32) int32 { return (id ^ id>>16) & (buckets - 1) }
	out := slices.Clone(rows)
	slices.SortStableFunc(out, func(a, b rowMeta) int { return cmp.Compare(bucket(a.id), bucket(b.id)) })
	return out
}

// arrange finds where the rows of such partitions lie, and says whether there are any. Partitions of which some rows only
// are saved were saved by a list, in the order of that.
func (s *stored) arrange(ctx context.Context, b blob.Bucket, m *matrixMeta) error {
	l := s.layout
	if l.rowID || l.column || l.framed || l.loose || !m.countsOneRow(s.dir.meta) {
		return nil
	}
	found := false
	for i := range s.pieces {
		p := &s.pieces[i]
		rows := inBuckets(p.rowMetas.span().rows(0, p.rowMetas.n))
		if int64(len(rows)) != p.rows.Len() || slices.IsSortedFunc(rows, func(a, b rowMeta) int { return cmp.Compare(a.id, b.id) }) {
			continue
		}
		if err := s.cutRows(ctx, b, p, rows); err != nil {
			return err
		}
		found = true
	}
	if found {
		s.notes = append(s.notes, "rows lie in the order of a hash table, as 2.0 to 2.2 saves them")
		s.bucketed = true
	}
	return nil
}

// cutRows makes a run of each stretch of ascending rows.
func (s *stored) cutRows(ctx context.Context, b blob.Bucket, p *piece, rows []rowMeta) error {
	o, err := s.dir.open(ctx, b, &p.partMeta)
	if err != nil {
		return err
	}
	defer o.Close()
	each := s.layout.each(style{long: s.kind.LongKeys()}, s.meta.DType.Size())
	lines := bufio.NewReaderSize(io.NewSectionReader(o, p.off, p.size), window)
	off := p.off
	for first := 0; first < len(rows); {
		last := first + 1
		for last < len(rows) && rows[last].id > rows[last-1].id {
			last++
		}
		u := run{layout: s.layout, off: off, rows: spanOf(rows[first:last]...)}
		u.records = u.rows.values()
		if u.size = u.records * each; each == 0 {
			if u.size, err = skipLines(ctx, lines, u.records, p.off+p.size-off); err != nil {
				return format.Wrap(name, blob.Join(s.dir.path, p.file), &wire.At{Off: off, Err: err})
			}
		}
		off += u.size
		p.runs = append(p.runs, u)
		first = last
	}
	if k := len(p.runs) - 1; each == 0 && off < p.off+p.size {
		p.runs[k].size += p.off + p.size - off // more lines than are announced, which is found when they are read
	}
	return nil
}

// skipLines passes over n lines and says how many bytes they have; the last may end without a line end.
func skipLines(ctx context.Context, b *bufio.Reader, n, most int64) (size int64, err error) {
	for range n {
		if size&0xfffff == 0 && ctx.Err() != nil {
			return size, ctx.Err()
		}
		for {
			c, err := b.ReadByte()
			if err == io.EOF && size == most {
				return size, nil // too few lines are found when they are read
			}
			if err != nil {
				return size, err
			}
			if size++; c == '\n' {
				break
			}
			if c != '\r' {
				continue
			}
			if next, err := b.Peek(1); err == nil && next[0] == '\n' {
				_, _ = b.Discard(1)
				size++
			}
			break
		}
	}
	return size, nil
}
