package scale

import "time"

// conn is a connection: messages come in their order, those of one that ends do not come.
type conn struct {
	w        *world
	id       int64
	task     *task
	server   *server
	up, down time.Duration // when the last message of each direction comes
	over     bool
}

func (w *world) dial(t *task, s *server) *conn {
	w.conns++
	return &conn{w: w, id: w.conns, task: t, server: s}
}

// ask brings a message to the server.
func (c *conn) ask(do func()) {
	w := c.w
	w.count.requests++
	c.task.busy = max(c.task.busy, w.now) + taskCost
	c.up = max(c.up, c.task.busy+w.delay())
	w.at(c.up, func() {
		if c.over || c.server.dead {
			return
		}
		c.server.busy = max(c.server.busy, w.now) + serverCost
		do()
	})
}

// answer brings a message to the task, when the server has made it.
func (c *conn) answer(do func()) {
	w := c.w
	w.count.answers++
	c.down = max(c.down, max(w.now, c.server.busy)+w.delay())
	w.at(c.down, func() {
		if c.over || c.task.dead {
			return
		}
		c.task.busy = max(c.task.busy, w.now) + taskCost
		do()
	})
}

// end ends the connection; both sides hear of it.
func (c *conn) end() {
	if c.over {
		return
	}
	c.over = true
	w := c.w
	w.after(w.delay(), func() {
		if !c.server.dead {
			c.server.gone(c)
		}
	})
	w.after(w.delay(), func() {
		if !c.task.dead {
			c.task.lost(c)
		}
	})
}
