package interp

import (
	"context"
	"fmt"
	"syscall"
	"testing"

	"thole.example/program"
)

// drawn builds a network of images, layer by layer.
type drawn struct {
	ops    []program.Op
	params map[string]*Tensor
	at     string // the last variable
	n      int
}

func (d *drawn) add(text string, set ...program.Attr) string {
	d.n++
	next := fmt.Sprintf("v%d", d.n)
	o := op1(fmt.Sprintf(text, next), 0)
	o.Attrs = set
	d.ops = append(d.ops, o)
	d.at = next
	return next
}

func (d *drawn) param(dims ...int) string {
	name := fmt.Sprintf("p%d", len(d.params))
	t := wave(dims...)
	for i := range t.F {
		t.F[i] *= 0.05
	}
	d.params[name] = t
	return name
}

func two(name string, n int64) program.Attr { return program.Attr{Name: name, Value: []int64{n, n}} }

func (d *drawn) conv(in, out, size, step int) {
	d.add("conv2d Input="+d.at+" Filter="+d.param(out, in, size, size)+" > Output=%s", two("strides", int64(step)), two("paddings", int64(size/2)))
}

func (d *drawn) norm(n int) {
	d.add("batch_norm X=" + d.at + " Scale=" + d.param(n) + " Bias=" + d.param(n) + " Mean=" + d.param(n) + " Variance=" + d.ones(n) + " > Y=%s")
}

func (d *drawn) ones(n int) string {
	name := d.param(n)
	for i := range d.params[name].F {
		d.params[name].F[i] = 1
	}
	return name
}

func (d *drawn) relu() { d.add("relu X=" + d.at + " > Out=%s") }

func (d *drawn) dense(in, out int) {
	d.add("mul X=" + d.at + " Y=" + d.param(in, out) + " > Out=%s")
	d.add("elementwise_add X=" + d.at + " Y=" + d.param(out) + " > Out=%s")
}

// machine ends the network, whose input is called x.
func (d *drawn) machine(tb testing.TB) *Machine {
	b := program.Block{Parent: -1, Vars: []program.Var{{Name: "x", Kind: program.VarType_DENSE_TENSOR, Typed: true, Elem: program.VarType_FP32,
		Dims: []int64{-1, 3, -1, -1}}}}
	feed := program.Op{Type: "feed", Out: []program.Slot{{Name: "Out", Args: []string{"x"}}}, Attrs: []program.Attr{{Name: "col", Value: int64(0)}}}
	b.Ops = append(append(append(b.Ops, feed), d.ops...), program.Op{Type: "fetch", In: []program.Slot{{Name: "X", Args: []string{d.at}}}})
	m, err := New(&program.Program{Blocks: []program.Block{b}}, d.params)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// vgg11 is the network of that name over images of 3 x 224 x 224.
func vgg11() *drawn {
	d := &drawn{params: map[string]*Tensor{}, at: "x"}
	in := 3
	for _, out := range []int{64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0} {
		if out == 0 {
			d.add("pool2d X="+d.at+" > Out=%s", two("ksize", 2), two("strides", 2))
			continue
		}
		d.conv(in, out, 3, 1)
		d.relu()
		in = out
	}
	d.dense(512*7*7, 4096)
	d.relu()
	d.dense(4096, 4096)
	d.relu()
	d.dense(4096, 1000)
	return d
}

// resnet18 is the network of that name, over images of any size.
func resnet18() *drawn {
	d := &drawn{params: map[string]*Tensor{}, at: "x"}
	d.conv(3, 64, 7, 2)
	d.norm(64)
	d.relu()
	d.add("pool2d X="+d.at+" > Out=%s", two("ksize", 3), two("strides", 2), two("paddings", 1))
	in := 64
	for _, out := range []int{64, 64, 128, 128, 256, 256, 512, 512} {
		step, from := 1, d.at
		if out != in {
			step = 2
		}
		d.conv(in, out, 3, step)
		d.norm(out)
		d.relu()
		d.conv(out, out, 3, 1)
		d.norm(out)
		long := d.at
		if d.at = from; out != in {
			d.conv(in, out, 1, 2)
			d.norm(out)
		}
		d.add("elementwise_add X=" + long + " Y=" + d.at + " > Out=%s")
		d.relu()
		in = out
	}
	d.add("pool2d X="+d.at+" > Out=%s", program.Attr{Name: "global_pooling", Value: true}, program.Attr{Name: "pooling_type", Value: "avg"})
	d.add("flatten_contiguous_range X="+d.at+" > Out=%s", program.Attr{Name: "stop_axis", Value: int64(3)})
	d.dense(512, 1000)
	return d
}

// BenchmarkNetworks runs networks of images; ms-cpu is the time of the processors, most-MB the most memory that the process had.
func BenchmarkNetworks(b *testing.B) {
	for _, c := range []struct {
		name string
		make func() *drawn
		size int
	}{{"ResNet18/64", resnet18, 64}, {"ResNet18/224", resnet18, 224}, {"VGG11/224", vgg11, 224}} {
		b.Run(c.name, func(b *testing.B) {
			m, x := c.make().machine(b), wave(1, 3, c.size, c.size)
			var before, after syscall.Rusage
			_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
			b.ResetTimer()
			for range b.N {
				if _, err := m.Run(context.Background(), map[string]*Tensor{"x": x}); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
			ms := func(u *syscall.Rusage) float64 {
				return 1e3*float64(u.Utime.Sec+u.Stime.Sec) + 1e-3*float64(u.Utime.Usec+u.Stime.Usec)
			}
			b.ReportMetric((ms(&after)-ms(&before))/float64(b.N), "ms-cpu/op")
			b.ReportMetric(float64(after.Maxrss)/1e3, "most-MB")
		})
	}
}
