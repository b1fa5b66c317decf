package slurm

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// TestMain lets the binary of the tests be the commands of Slurm, and the program that the steps run, by the name it is called.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "srun":
		os.Exit(fakeStep(os.Args[1:]))
	case "scontrol", "scancel":
		note(os.Args...)
		os.Exit(0)
	case "program":
		os.Exit(fakeProgram(os.Args[1:]))
	}
	os.Exit(m.Run())
}

// note adds a line to the file of what was called.
func note(words ...string) {
	f, err := os.OpenFile(os.Getenv("FAKE_NOTES"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	words[0] = filepath.Base(words[0])
	fmt.Fprintf(f, "%q\n", words)
}

// fakeStep is srun: a command as so many tasks, which are told to end when one of them fails.
func fakeStep(args []string) int {
	n := 1
	for len(args) > 0 && strings.HasPrefix(args[0], "--") {
		fmt.Sscanf(args[0], "--ntasks=%d", &n)
		args = args[1:]
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGUSR1)
	var mu sync.Mutex
	var all []*exec.Cmd
	tell := func(s os.Signal) {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range all {
			c.Process.Signal(s)
		}
	}
	codes := make(chan int)
	mu.Lock()
	for i := range n {
		c := exec.Command(args[0], args[1:]...)
		c.Env = append(os.Environ(), fmt.Sprintf("SLURM_PROCID=%d", i), "SLURMD_NODENAME=localhost")
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		if err := c.Start(); err != nil {
			panic(err)
		}
		all = append(all, c)
		go func() {
			c.Wait()
			codes <- c.ProcessState.ExitCode()
		}()
	}
	mu.Unlock()
	most := 0
	for n > 0 {
		select {
		case s := <-signals:
			tell(s)
		case code := <-codes:
			if n--; code != 0 {
				most = max(most, code)
				tell(syscall.SIGTERM)
			}
		}
	}
	return most
}

// fakeProgram is what a step runs. After the kind comes what it does; words like n=… are what it is told.
func fakeProgram(args []string) int {
	note(append([]string{"program"}, args...)...)
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	for _, arg := range args[1:] {
		does, what, _ := strings.Cut(arg, "=")
		switch does {
		case "listen": // host:port, as a server does
			port := what[strings.LastIndex(what, ":")+1:]
			if port == "0" {
				port = "4242"
			}
			fmt.Printf("listening at 10.0.0.1:%s\n", port)
		case "once": // kills itself, but not a second time
			if f, err := os.OpenFile(what, os.O_CREATE|os.O_EXCL, 0o666); err == nil {
				f.Close()
				syscall.Kill(os.Getpid(), syscall.SIGKILL)
			}
		case "exit":
			code := 0
			fmt.Sscan(what, &code)
			return code
		case "until": // a file is there, or somebody asks
			for !there(what) {
				select {
				case <-asked:
					return 130
				case <-after():
				}
			}
		case "input": // ends with its input, or when it is asked to
			ended := make(chan bool)
			go func() { io.Copy(io.Discard, bufio.NewReader(os.Stdin)); close(ended) }()
			select {
			case <-asked:
				return 0
			case <-ended:
				return 9
			}
		}
	}
	return 0
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
