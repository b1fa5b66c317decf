package main

import (
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"

	"thole.example/launch/local"
)

// printCommands prints a script that runs the processes of a launch on this machine, once each.
func (l *launch) printCommands(e *env, p *plan) error {
	dir, err := l.folderName(e)
	if err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	c := &crew{launch: l, p: p, e: e, dir: dir, sockets: filepath.Join(dir, "sockets"), progress: l.log}
	begin := ": >>" // a file of the user's is left as it is
	if l.log == "" {
		c.progress, begin = filepath.Join(dir, progressName), ": >"
	}
	if len(c.sockets) > socketsLongest {
		c.sockets = filepath.Join(os.TempDir(), fmt.Sprintf("thole-%08x", crc32.ChecksumIEEE([]byte(dir))))
	}
	c.told = c.addresses(l.servers)
	all, err := c.processes(l.servers, l.workers)
	if err != nil {
		return err
	}
	word := func(text string) string { return quoted([]string{text})[0] }
	behind := func(one local.Process) string { // in the background
		return fmt.Sprintf("%s >%s 2>&1 &\n", commandOf(program, one), word(filepath.Join(dir, one.Name+local.LogEnding)))
	}
	var b strings.Builder
	fmt.Fprintf(&b, `#!/bin/sh
# %s, as thole launch --on local runs them; it also starts again what is killed. Written by
#   thole %s
cd %s || exit
mkdir -p %s %s || exit
%s%s
trap 'kill $servers 2>/dev/null' EXIT
servers=
`, l.countsText(), strings.ReplaceAll(strings.Join(quoted(e.args), " "), "\n", "\n#   "), word(here), word(dir), word(c.sockets), begin,
		word(c.progress))
	for i, one := range all { // servers first
		if one.Kind == local.Server && l.serverLog {
			fmt.Fprintf(&b, "rm -rf %s\n", word(serverLog(dir, i))) // of a launch before
		}
		if one.Kind == local.Server {
			b.WriteString(behind(one) + "servers=\"$servers $!\"\n")
		}
	}
	wait := []string{program, "wait", "--timeout=" + l.wait.String()}
	for _, addr := range c.told {
		wait = append(wait, "--servers="+csvField(addr))
	}
	fmt.Fprintf(&b, "%s >/dev/null || exit\n", strings.Join(quoted(wait), " "))
	first := ""
	for _, one := range all {
		switch {
		case one.Kind == local.Server:
		case one.Shown:
			first = commandOf(program, one)
		default:
			b.WriteString(behind(one))
		}
	}
	fmt.Fprintf(&b, "%s\n", first)
	_, err = fmt.Fprint(e.out, b.String())
	return err
}

// commandOf is the command line of a process for the shell, without what it is told because it belongs to another.
func commandOf(program string, one local.Process) string {
	words := []string{program}
	for _, arg := range one.Args {
		if arg != "--"+tiedFlag && !strings.HasPrefix(arg, "--asked=") {
			words = append(words, arg)
		}
	}
	return strings.Join(quoted(words), " ")
}
