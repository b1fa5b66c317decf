package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestHeldOutNumbers trains on ids as every kind of column and measures and scores numbers that training never had: huge, negative,
// fractional, infinite, missing. They are scored, or refused with their line.
func TestHeldOutNumbers(t *testing.T) {
	t.Chdir(t.TempDir())
	r := rand.New(rand.NewPCG(1, 2))
	train, lines := "y,user_id,x\n", ""
	for range 400 {
		id := 1 + r.IntN(30)
		y := 0
		if r.IntN(5) < id%5 {
			y = 1
		}
		x := r.Float64()
		train += fmt.Sprintf("%d,%d,%.3f\n", y, id, x)
		lines += fmt.Sprintf("%d 1:%d 2:%.3f\n", y, id, x)
	}
	odd, oddLines := "y,user_id,x\n", ""
	for i, v := range []string{"1e300", "-5", "2.5", "NaN", "inf", "-inf", "1e19", "99999999999999999999", "2147483648", "-2147483649", "0", "-0",
		"1e-320", "", "3.0", "4e0"} {
		odd += fmt.Sprintf("%d,%s,0.5\n", i%2, v)
		if v != "" {
			oddLines += fmt.Sprintf("%d 1:%s 2:0.5\n", i%2, v)
		}
	}
	for name, text := range map[string]string{"train.csv": train, "odd.csv": odd, "train.libsvm": lines, "odd.libsvm": oddLines,
		"far.libsvm": "1 1:2 99999999999:1\n0 1:3 2:0.5\n"} {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	refusal := regexp.MustCompile(`thole: odd\.(csv|libsvm):\d+: `)
	try := func(args ...string) {
		t.Helper()
		if code, text := said(t, args...); code != 0 && !refusal.MatchString(text) {
			t.Errorf("thole %s: exit code %d: %s", strings.Join(args, " "), code, text)
		}
	}
	for _, algorithm := range []string{"gbdt --trees 3", "gbdt --trees 3 --cat-order node", "lr --epochs 1", "softmax --epochs 1", "fm --epochs 1",
		"deepfm --epochs 1"} {
		base := append(strings.Fields("train --runs none --force --model m --algo "+algorithm), "--holdout", "0")
		for _, kind := range []string{"numeric", "buckets", "categorical", "hashed", "multi"} {
			if code, text := said(t, append(base, "--data", "train.csv", "--"+kind, "user_id")...); code != 0 {
				t.Fatalf("%s: %s", kind, text)
			}
			try("predict", "--model", "m", "--data", "odd.csv", "--out", "p.csv", "--force")
			try("evaluate", "--model", "m", "--data", "odd.csv")
			try(append(base, "--data", "train.csv", "--validate", "odd.csv", "--"+kind, "user_id")...)
		}
		if code, text := said(t, append(base, "--data", "train.libsvm")...); code != 0 {
			t.Fatal(text)
		}
		for _, file := range []string{"odd.libsvm", "far.libsvm"} {
			try("predict", "--model", "m", "--data", file, "--out", "p.csv", "--force")
			try(append(base, "--data", "train.libsvm", "--validate", file)...)
		}
	}
	// Categories of LightGBM are sets of whole numbers.
	thole(t, "train", "--runs", "none", "--force", "--model", "m", "--algo", "gbdt", "--trees", "3", "--data", "train.csv", "--categorical", "user_id")
	thole(t, "convert", "m", "m.lgb", "--lossy")
	try("predict", "--model", "m.lgb", "--data", "odd.csv", "--out", "p.csv", "--force")
}
