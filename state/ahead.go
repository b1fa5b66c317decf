package state

// ahead is frames that are read, and whose checksums are looked at, in another goroutine than that which takes them apart.
type ahead struct {
	by    *Reader // of that goroutine
	made  chan frame
	spare chan []byte // bodies that are not needed any more
	stop  chan struct{}
	body  []byte // of the last frame that was taken
}

// frame is one with its body, from the byte off to the byte end.
type frame struct {
	kind     kind
	body     []byte
	off, end int64
	err      error
}

// framesAhead is how many frames are read ahead.
const framesAhead = 3

// Ahead is how many frames a reader has in memory at most while it reads ahead.
const Ahead = framesAhead + 2

// ReadAhead has another goroutine read the next frames while the caller uses the last one, until over is called, which has to be.
func (r *Reader) ReadAhead() (over func()) {
	a := &ahead{
		by: &Reader{src: r.src, off: r.off, end: r.end, heads: r.heads}, made: make(chan frame, framesAhead),
		spare: make(chan []byte, framesAhead+2), stop: make(chan struct{}),
	}
	go a.read()
	r.ahead = a
	return func() {
		close(a.stop)
		for range a.made { // until it has ended: somebody else may close the file then
		}
		r.ahead = nil
	}
}

func (a *ahead) read() {
	defer close(a.made)
	for a.by.More() {
		f := frame{}
		if f.kind, f.body, f.off, f.err = a.by.next("record"); f.err == nil {
			f.end = a.by.off
		}
		select {
		case a.made <- f:
		case <-a.stop:
			return
		}
		if f.err != nil {
			return
		}
		select { // the body is whose frame it is
		case a.by.body = <-a.spare:
		default:
			a.by.body = nil
		}
	}
}

// next takes the next frame; ok is false if there is none.
func (a *ahead) next() (f frame, ok bool) {
	if a.body != nil {
		a.spare <- a.body[:0]
		a.body = nil
	}
	if f, ok = <-a.made; ok {
		a.body = f.body
	}
	return f, ok
}
