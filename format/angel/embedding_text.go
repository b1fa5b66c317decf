package angel

import (
	"fmt"
	"slices"
	"strings"
)

// embeddingText is how Angel's graph algorithms store vectors of nodes: lines "node:value value …", whose two separators
// come from the job. It is only read. The nodes are taken as columns and the values of a vector as rows, as embeddings are
// elsewhere; LINE and Word2Vec leave no metadata beside it.
var embeddingText = layout{
	name: "TextEmbeddingNodeOutputFormat", text: true, colID: true, column: true, keyed: true,
	f64: pair[float64]{putTextColumn[float64], takeEmbeddingText[float64]},
	f32: pair[float32]{putTextColumn[float32], takeEmbeddingText[float32]},
	i64: pair[int64]{putTextColumn[int64], takeEmbeddingText[int64]},
	i32: pair[int32]{putTextColumn[int32], takeEmbeddingText[int32]},
}

// embeddingClasses are the formats of that kind, by their short names; they are in several packages.
var embeddingClasses = []string{"TextEmbeddingNodeOutputFormat", "TextLINEModelOutputFormat", "TextUniversalEmbModelOutEmbOutputFormat"}

// isEmbedding reports whether a class writes vectors of nodes as text.
func isEmbedding(class string) bool {
	return slices.Contains(embeddingClasses, class[strings.LastIndexByte(class, '.')+1:])
}

func takeEmbeddingText[T Number](in input, r *records[T], n int) (int, error) {
	parse := reading[T](in.style)
	b := in.lines()
	at := 0
	for ; n > 0 && at < len(b); n-- {
		col, i := in.field(b, at)
		for k := range r.width {
			if k > 0 && i > 0 {
				i = in.between(b, i)
			}
			if i == 0 {
				break
			}
			v, w := parse(b[i:])
			r.val = append(r.val, v)
			if i += w; w == 0 {
				i = 0
			}
		}
		next, ok := lineEnd(b, i)
		if i == 0 || !ok {
			return at, in.bad(at, fmt.Sprintf("a node id and %d values", r.width))
		}
		r.col = append(r.col, col)
		at = next
	}
	return at, nil
}
