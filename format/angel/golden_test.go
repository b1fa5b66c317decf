package angel

import (
	"bufio"
	"context"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"thole.example/blob"
	"thole.example/format"
	"thole.example/format/formattest"
	"thole.example/matrix"
)

const golden = "../../../shared/golden/angel"

// needGolden skips a test where the files that Angel wrote are not there.
func needGolden(t testing.TB, name string) string {
	t.Helper()
	p := filepath.Join(golden, filepath.FromSlash(name))
	if len(present(name)) == 0 {
		t.Skipf("no golden files at %s", p)
	}
	return p
}

// present are the models that are there: those of this package, which have no slash in their names, and of Angel's what is there.
func present(names ...string) (found []string) {
	for _, name := range names {
		_, err := os.Stat(filepath.Join(golden, filepath.FromSlash(name)))
		if err == nil || !strings.Contains(name, "/") {
			found = append(found, name)
		}
	}
	return found
}

// own is a golden model of this package, at the path model.
func own(t testing.TB, name string) *blob.Mem {
	t.Helper()
	b := &blob.Mem{}
	formattest.Goldens(t, "testdata/golden/"+name+".txtar")[0].Put(t, b)
	return b
}

type cell struct{ row, col int64 }

// openDir opens a model folder of the local file system.
func openDir(t testing.TB, dir string, set map[string]string) format.Reader {
	t.Helper()
	r, err := tryDir(dir, set)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func tryDir(dir string, set map[string]string) (format.Reader, error) {
	b, name, err := blob.Local(dir)
	if err != nil {
		return nil, err
	}
	return Codec.Open(context.Background(), b, name, format.Options{Set: set})
}

// values collects the stored cells of a matrix as text, and checks the promises of Blocks on the way.
func values(r format.Reader, m matrix.Meta, want matrix.Rect) (map[cell]string, error) {
	got := map[cell]string{}
	var places []matrix.Rect
	for b, err := range r.Blocks(context.Background(), m.Name, want) {
		if err != nil {
			return nil, err
		}
		if err := b.Check(); err != nil {
			return nil, err
		}
		if !want.Contains(b.At) {
			return nil, fmt.Errorf("block %v is not within %v", b.At, want)
		}
		if b.Data.DType() != m.DType {
			return nil, fmt.Errorf("block of %v in a matrix of %v", b.Data.DType(), m.DType)
		}
		places = append(places, b.At)
		err := b.EachText(func(row, col int64, v []byte) error {
			if _, twice := got[cell{row, col}]; twice {
				return fmt.Errorf("cell (%d,%d) twice", row, col)
			}
			got[cell{row, col}] = string(v)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	if i, j, twice := overlap(places); twice {
		return nil, fmt.Errorf("blocks %v and %v overlap", places[i], places[j])
	}
	return got, nil
}

// truth reads what was in memory when Angel saved, in the spelling of matrix.EachText.
func truth(t *testing.T, file string, d matrix.DType) map[cell]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want := map[cell]string{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		p := strings.Split(lines.Text(), "\t")
		row, _ := strconv.ParseInt(p[0], 10, 64)
		col, _ := strconv.ParseInt(p[1], 10, 64)
		text := p[2]
		if d.Float() {
			bits := d.Size() * 8
			v, err := strconv.ParseFloat(text, bits)
			if err != nil {
				t.Fatal(err)
			}
			text = strconv.FormatFloat(v, 'g', -1, bits)
		}
		want[cell{row, col}] = text
	}
	return want
}

// lossy says why what Angel saved is less than what it had, "" if it is not; such a matrix is compared in part.
func lossy(dir string, m matrix.Meta) string {
	class := strings.TrimPrefix(m.Attrs[attrFormat], classPath)
	sparse := m.Layout == matrix.RowSparse
	switch {
	case strings.Contains(dir, "adaptive_sparse_as_dense"), strings.Contains(dir, "snapshot"):
		return ""
	case sparse && strings.HasPrefix(class, "Value"):
		return "Value formats do not store which columns sparse rows have"
	case sparse && strings.HasSuffix(class, "ColumnFormat"):
		return "column formats store the columns of the first row only, and zeros for its absent cells"
	case class == "RowIdColIdValueTextRowFormat" && m.DType == matrix.F64:
		return "six decimals"
	case strings.Contains(dir, "rows_2_0_1_") && !strings.HasPrefix(class, "RowId") && !strings.HasSuffix(class, "ColumnFormat"):
		return "rows were saved in another order than ascending, which nothing tells"
	case strings.Contains(dir, "hash3_TextColumn"):
		return "wrong ids behind the first hash partition"
	}
	return ""
}

// truths are the folders that Angel's classes wrote and of which it is known what they had; none if they are not there.
func truths(t *testing.T) (names []string) {
	t.Helper()
	if len(present("generated-master/")) == 0 {
		return nil
	}
	err := filepath.WalkDir(golden, func(p string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(p, ".truth.tsv") {
			name := strings.TrimPrefix(filepath.ToSlash(p), golden+"/")
			names = append(names, strings.TrimSuffix(name, ".truth.tsv"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestGoldenTruth(t *testing.T) {
	needGolden(t, "generated-master/")
	for _, name := range truths(t) {
		t.Run(name, func(t *testing.T) {
			dir := needGolden(t, name)
			r, err := tryDir(dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			m := r.Matrices()[0]
			want := truth(t, dir+".truth.tsv", m.DType)
			got, err := values(r, m, m.Rect())
			why := lossy(dir, m)
			if strings.HasPrefix(why, "Value") {
				checkPacked(t, dir, want, err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			checkTruth(t, why, want, got)
		})
	}
}

// checkTruth compares cells; in matrices that lost something, the part that they did not lose.
func checkTruth(t *testing.T, why string, want, got map[cell]string) {
	t.Helper()
	for c, v := range want {
		g, ok := got[c]
		switch {
		case why == "" && g != v, why == "six decimals" && !near(g, v, 5.1e-7):
			t.Errorf("cell %v is %q, want %q", c, g, v)
		case strings.HasPrefix(why, "column") && ok && g != v:
			t.Errorf("cell %v is %q, want %q", c, g, v)
		case strings.HasPrefix(why, "column") && !ok && c.row == 0:
			t.Errorf("cell %v of the first row is absent", c)
		case strings.HasPrefix(why, "rows") && !ok:
			t.Errorf("cell %v is absent", c)
		}
	}
	for c, g := range got {
		if _, ok := want[c]; !ok && !(strings.HasPrefix(why, "column") && g == "0") {
			t.Errorf("cell %v is %q, want none", c, g)
		}
	}
}

func near(a, b string, within float64) bool {
	x, err := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err == nil && err2 == nil && (a == b || math.Abs(x-y) <= within)
}

// checkPacked wants sparse rows without column ids refused, and every value there when the user takes them.
func checkPacked(t *testing.T, dir string, want map[cell]string, err error) {
	t.Helper()
	if !isTyped(err, format.ErrLossy) {
		t.Fatalf("got error %v, want one that the columns are lost", err)
	}
	r := openDir(t, dir, map[string]string{optPacked: "accept"})
	m := r.Matrices()[0]
	got, err := values(r, m, m.Rect())
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(want) {
		t.Errorf("%d values, want %d", len(got), len(want))
	}
}
