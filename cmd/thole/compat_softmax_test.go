package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// account is softmax regression trained by Angel's rules in float64, with plain loops and nothing of our packages: every 10th row is
// held out, an epoch is ten batches in the order of the file, of which the last one begins again at the start, weights follow momentum
// 0.9 with an l2 penalty, biases plain gradient descent, and the rate of epoch c, from 1 on, is rate/sqrt(1 + c/2).
type account struct {
	x, heldX         [][]float64
	y, heldY         []int
	classes, columns int
	weight, bias     []float64 // weight of class k and column c at k*columns + c
}

const (
	accountRate = 0.1
	accountL2   = 0.001
)

// train makes epochs.
func (a *account) train(epochs int) {
	a.weight, a.bias = make([]float64, a.classes*a.columns), make([]float64, a.classes)
	velocity := make([]float64, len(a.weight))
	size := (len(a.x) + 9) / 10
	for epoch := 1; epoch <= epochs; epoch++ {
		rate := accountRate / math.Sqrt(1+0.5*float64(epoch))
		for batch := range 10 {
			weights, biases := make([]float64, len(a.weight)), make([]float64, len(a.bias))
			for i := range size {
				row := (batch*size + i) % len(a.x)
				p := a.probabilities(a.x[row])
				p[a.y[row]]--
				for k, d := range p {
					biases[k] += d
					for c, v := range a.x[row] {
						weights[k*a.columns+c] += d * v
					}
				}
			}
			for i, g := range weights {
				velocity[i] = 0.9*velocity[i] + g/float64(size) + accountL2*a.weight[i]
				a.weight[i] -= rate * velocity[i]
			}
			for k, g := range biases {
				a.bias[k] -= rate * g / float64(size)
			}
		}
	}
}

func (a *account) probabilities(x []float64) []float64 {
	p, sum := make([]float64, a.classes), 0.0
	for k := range p {
		score := a.bias[k]
		for c, v := range x {
			score += a.weight[k*a.columns+c] * v
		}
		p[k] = math.Exp(score)
		sum += p[k]
	}
	for k := range p {
		p[k] /= sum
	}
	return p
}

// measure is the mean loss of the held-out rows, and the share of which the likeliest class is theirs.
func (a *account) measure() (loss, accuracy float64) {
	n := float64(len(a.heldX))
	for i, x := range a.heldX {
		p, best := a.probabilities(x), 0
		for k := range p {
			if p[k] > p[best] {
				best = k
			}
		}
		loss -= math.Log(p[a.heldY[i]]) / n
		if best == a.heldY[i] {
			accuracy += 1 / n
		}
	}
	return loss, accuracy
}

// threeClasses makes three classes of abalone's rings, up to 8, 9 and 10, and more: an account of the rows, and their file.
func threeClasses(t *testing.T, from string) (a *account, path string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	a = &account{classes: 3, columns: 8}
	var out strings.Builder
	number := func(word string) float64 {
		v, err := strconv.ParseFloat(word, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for i, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		label, values, _ := strings.Cut(line, " ")
		class, rings, x := 0, number(label), make([]float64, a.columns)
		if rings > 10 {
			class = 2
		} else if rings > 8 {
			class = 1
		}
		for _, word := range strings.Fields(values) {
			column, value, _ := strings.Cut(word, ":")
			x[int(number(column))-1] = number(value)
		}
		if i%10 == 0 {
			a.heldX, a.heldY = append(a.heldX, x), append(a.heldY, class)
		} else {
			a.x, a.y = append(a.x, x), append(a.y, class)
		}
		fmt.Fprintf(&out, "%d %s\n", class, values)
	}
	return a, write(t, "three.libsvm", out.String())
}

// TestCompatSoftmax wants softmax under --compat angel to agree with the account, to 1e-6.
func TestCompatSoftmax(t *testing.T) {
	from, there := sharedData(t, "abalone/abalone_8d_train.libsvm")
	if !there {
		t.Skip("no abalone")
	}
	a, data := threeClasses(t, from)
	for _, epochs := range []int{1, 2, 10} {
		a.train(epochs)
		loss, accuracy := a.measure()
		model, name := filepath.Join(t.TempDir(), "model"), fmt.Sprintf("%d epochs: ", epochs)
		valid := trainAsAngel(t, model, fmt.Sprint(epochs), "--algo", "softmax", "--data", data, "--format", "libsvm",
			"--rate", fmt.Sprint(accountRate), "--l2", fmt.Sprint(accountL2))
		near(t, name+"loss", valid["softmaxloss"], loss)
		near(t, name+"accuracy", valid["accuracy"], accuracy)
		for matrix, values := range map[string]row{"input_weight": a.weight, "input_bias": a.bias} {
			got := columnValues(t, filepath.Join(model, matrix, "0"))
			if len(got) != len(values) {
				t.Fatalf("%s has %d values, want %d", matrix, len(got), len(values))
			}
			for i, v := range values {
				near(t, fmt.Sprintf("%s%s value %d", name, matrix, i), got[i], v)
			}
		}
		t.Logf("%sloss %.9f, accuracy %.6f", name, loss, accuracy)
	}
}
