package algo

import (
	"fmt"
	"slices"
	"strings"

	"thole.example/internal/spell"
)

// angelPackage begins the names of Angel's classes; what follows their last dot is a name like others.
const angelPackage = "com.tencent.angel.ml."

// absent is an algorithm that people ask for by a name and that is no recipe, with what there is in place of it.
type absent struct {
	names []string
	text  string
}

// missing is the table of such algorithms.
func missing() []absent {
	return []absent{
		{[]string{"MixedLogisticRegression", "MLR", "MixedLR"}, "there is no recipe of mixed logistic regression; " +
			"a graph describes its network (docs/graph.md has it)"},
		{[]string{"GraphModel", "AngelModel"}, "its network is that of a file: --graph FILE"},
	}
}

// folded is a name in small letters, without what stands between words and without the package of a class of Angel's.
func folded(name string) string {
	if rest, ok := strings.CutPrefix(name, angelPackage); ok {
		name = rest[strings.LastIndexByte(rest, '.')+1:]
	}
	return strings.ToLower(strings.NewReplacer(" ", "", "-", "", "_", "", "&", "").Replace(name))
}

// Find is the recipe of that name, or of one that it has also, in letters of any case, with or without blanks and signs between its
// words; classes of Angel's are found, too. The error lists the names there are.
func Find(name string) (*Algo, error) {
	want, all := folded(name), append(Algos(), Trees())
	is := func(other string) bool { return folded(other) == want }
	names, others := make([]string, len(all)), []string(nil)
	for i := range all {
		if is(all[i].Name) || slices.ContainsFunc(all[i].Also, is) {
			return &all[i], nil
		}
		names[i], others = all[i].Name, append(others, all[i].Also...)
	}
	for _, m := range missing() {
		if slices.ContainsFunc(m.names, is) {
			return nil, fmt.Errorf("algorithm %q: %s; thole algos lists what can be trained", name, m.text)
		}
	}
	return nil, fmt.Errorf("algorithm %q, want one of %s%s", name, strings.Join(names, " "), spell.Hint(want, slices.Concat(names, others)))
}
