package interp

import (
	"context"
	"fmt"
	"slices"

	"thole.example/matrix"
	"thole.example/program"
)

// flow is a line of the table of control flow: an operator that runs blocks, or that takes variables which only a branch
// gives. plan makes what computes it, after its slots and settings are checked.
type flow struct {
	op
	plan func(pl *planner, s *step) (func(c *call) error, error)
}

// flows is the table. The first three are of ProgramDesc, where a block writes to the variables around it; the others are
// those of PIR, where it yields values.
func flows() []flow {
	block, regions := []setting{{"sub_block", int64(0), ""}}, []setting{{"regions", []int64{}, ""}}
	return []flow{
		{op{"while", []string{"Condition", "X?*"}, []string{"Out?*", "StepScopes?"}, block, nil}, planWhile},
		{op{"conditional_block", []string{"Cond", "Input?*"}, []string{"Out?*", "Scope?"},
			append(block, setting{"is_scalar_condition", only{true}, ""}), nil}, planConditional},
		{op{"select_input", []string{"X*", "Mask"}, []string{"Out"}, nil, nil}, planSelect},
		{op{"while_values", []string{"Cond", "X?*"}, []string{"Out?*"}, regions, nil}, planWhileValues},
		{op{"if_values", []string{"Cond"}, []string{"Out?*"}, regions, nil}, planIfValues},
	}
}

// Limits of control flow: how deep blocks lie within each other, and how often loops turn in one run.
const (
	maxDepth = 64
	maxTurns = 1 << 20
)

// sequence is the steps of a block, with the variables that it is given and those that it yields.
type sequence struct {
	steps        []step
	args, yields []string

	local map[string]bool // variables that it makes
	last  map[string]int  // of these: the step behind which they are not needed
}

// running is the state of a run.
type running struct {
	ctx   context.Context
	vars  map[string]*Tensor
	turns int
}

// do runs the steps.
func (q *sequence) do(r *running) error {
	for i := range q.steps {
		s := &q.steps[i]
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if err := s.run(&call{s, r}); err != nil {
			return fmt.Errorf("%v: %w", s.pos, err)
		}
		for _, name := range s.free {
			delete(r.vars, name)
		}
	}
	return nil
}

// whole wraps what computes an operator all of whose inputs must have values: a branch that was not taken gives none.
func whole(run func(c *call) error) func(c *call) error {
	return func(c *call) error {
		for slot, names := range c.in {
			for _, name := range names {
				if c.vars[name] == nil {
					return fmt.Errorf("input %s: variable %q has no value, since the branch that gives it was not taken", slot, name)
				}
			}
		}
		return run(c)
	}
}

// free notes at each step which variables are not needed behind it.
func (q *sequence) free() {
	for name, i := range q.last {
		if i < len(q.steps) {
			q.steps[i].free = append(q.steps[i].free, name)
		}
	}
}

// block plans a block within the current one.
func (pl *planner) block(n int64) (*sequence, error) {
	if n < 1 || n >= int64(len(pl.p.Blocks)) || pl.taken[n] {
		return nil, fmt.Errorf("block %d, want one that no other operator runs: %w", n, ErrOp)
	}
	if len(pl.scopes) == maxDepth {
		return nil, fmt.Errorf("blocks more than %d deep: %w", maxDepth, ErrOp)
	}
	pl.taken[n] = true
	b := &pl.p.Blocks[n]
	for i := range b.Vars {
		v := &b.Vars[i]
		if pl.known[v.Name] {
			return nil, fmt.Errorf("variable %q of block %d hides one around it: %w", v.Name, n, ErrOp)
		}
		pl.vars[v.Name] = v
	}
	pl.split(b)
	q := pl.open()
	q.args = b.Args
	for _, name := range b.Args {
		pl.make(name)
	}
	for i := range b.Ops {
		pos := Position{int(n), i, b.Ops[i].Type}
		if err := pl.add(&b.Ops[i], pos); err != nil {
			return nil, fmt.Errorf("%v: %w", pos, err)
		}
	}
	for _, name := range q.yields {
		if q.local[name] {
			q.last[name] = len(q.steps)
		}
	}
	pl.close()
	return q, nil
}

// yield ends a block of PIR.
func (pl *planner) yield(o *program.Op) error {
	if len(pl.scopes) == 1 {
		return fmt.Errorf("a yield outside of regions: %w", ErrOp)
	}
	q := pl.scopes[len(pl.scopes)-1]
	for _, name := range arguments(o.In) {
		if err := pl.use(name); err != nil {
			return err
		}
	}
	q.yields = arguments(o.In)
	return nil
}

// truth is the value of a condition.
func (c *call) truth(name string) (bool, error) {
	t := c.vars[name]
	if t == nil || t.Type == matrix.F32 || len(t.I) != 1 {
		return false, fmt.Errorf("condition %q is %s, want one truth value: %w", name, t.text(), ErrShape)
	}
	return t.I[0] != 0, nil
}

// repeat runs a block as long as the condition is true; next is what comes behind each turn.
func (c *call) repeat(body *sequence, condition string, next func() error) error {
	for {
		on, err := c.truth(condition)
		if err != nil || !on {
			return err
		}
		if c.turns++; c.turns > maxTurns {
			return fmt.Errorf("loops turn more than %d times", maxTurns)
		}
		if err := body.do(c.running); err != nil {
			return err
		}
		if err := next(); err != nil {
			return err
		}
	}
}

// copy gives variables the values of others, all at once.
func (c *call) copy(to, from []string) error {
	values := make([]*Tensor, len(from))
	for i, name := range from {
		if values[i] = c.vars[name]; values[i] == nil {
			return fmt.Errorf("variable %q has no value: %w", name, ErrOp)
		}
	}
	for i, name := range to {
		c.vars[name] = values[i]
	}
	return nil
}

func planWhile(pl *planner, s *step) (func(c *call) error, error) {
	body, err := pl.block(s.set["sub_block"].(int64))
	return func(c *call) error {
		return c.repeat(body, c.in["Condition"][0], func() error { return nil })
	}, err
}

func planConditional(pl *planner, s *step) (func(c *call) error, error) {
	body, err := pl.block(s.set["sub_block"].(int64))
	return func(c *call) error {
		on, err := c.truth(c.in["Cond"][0])
		if err != nil || !on {
			return err
		}
		return body.do(c.running)
	}, err
}

// planSelect gives the one of several variables that a number names.
func planSelect(*planner, *step) (func(c *call) error, error) {
	return func(c *call) error {
		mask, list := c.t("Mask"), c.all("X")
		if mask == nil || len(mask.I) != 1 || mask.I[0] < 0 || mask.I[0] >= int64(len(list)) || list[mask.I[0]] == nil {
			return fmt.Errorf("mask is %s, want the number of one of %d variables that has a value: %w", mask.text(), len(list), ErrShape)
		}
		c.give(list[mask.I[0]])
		return nil
	}, nil
}

// inside plans the regions of an operator, each of one block that yields so many values.
func (pl *planner) inside(s *step, regions, yields int) ([]*sequence, error) {
	numbers := s.set["regions"].([]int64)
	if len(numbers) != regions {
		return nil, fmt.Errorf("%d blocks, want %d: %w", len(numbers), regions, ErrOp)
	}
	var all []*sequence
	for _, n := range numbers {
		q, err := pl.block(n)
		if err != nil {
			return nil, err
		}
		if len(q.yields) != yields {
			return nil, fmt.Errorf("block %d yields %d values, want %d: %w", n, len(q.yields), yields, ErrOp)
		}
		all = append(all, q)
	}
	return all, nil
}

func planWhileValues(pl *planner, s *step) (func(c *call) error, error) {
	from, to := s.in["X"], s.out["Out"]
	q, err := pl.inside(s, 1, 1+len(to))
	if err != nil {
		return nil, err
	}
	body := q[0]
	if len(body.args) != len(from) || len(from) != len(to) {
		return nil, fmt.Errorf("%d values in, %d in the block, %d out, want as many: %w", len(from), len(body.args), len(to), ErrOp)
	}
	// The condition of the first turn is an operand, of the next ones what the block yields first. The operand may be read
	// behind the loop, so its values get a name of their own.
	condition := "condition of " + s.pos.String()
	return func(c *call) error {
		if err := c.copy(slices.Concat([]string{condition}, body.args), slices.Concat(c.in["Cond"], from)); err != nil {
			return err
		}
		next := func() error { return c.copy(slices.Concat([]string{condition}, body.args), body.yields) }
		if err := c.repeat(body, condition, next); err != nil {
			return err
		}
		return c.copy(to, body.args)
	}, nil
}

func planIfValues(pl *planner, s *step) (func(c *call) error, error) {
	branches, err := pl.inside(s, 2, len(s.out["Out"]))
	return func(c *call) error {
		on, err := c.truth(c.in["Cond"][0])
		if err != nil {
			return err
		}
		q := branches[1]
		if on {
			q = branches[0]
		}
		if err := q.do(c.running); err != nil {
			return err
		}
		return c.copy(c.out["Out"], q.yields)
	}, err
}
