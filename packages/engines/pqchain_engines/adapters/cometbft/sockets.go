package main

import (
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"time"

	"github.com/cometbft/cometbft/p2p"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// runSockets runs the validators over TCP: on 127.0.0.1, or each in its network namespace. Where links
// have a latency, relays delay what they carry; a rate is that of a relay, or of a namespace.
func runSockets(s *scenario) ([]map[string]any, error) {
	v, err := newValidators(s)
	if err != nil {
		return nil, err
	}
	for i, n := range v.nodes {
		if err := s.inside(i, n.Start); err != nil {
			return nil, err
		}
	}
	// Every validator is connected to every other: the later one dials.
	var dials errgroup.Group
	for i := range v.nodes {
		for j := range i {
			dials.Go(func() error { return s.inside(i, func() error { return v.dial(i, j) }) })
		}
	}
	if err := dials.Wait(); err != nil {
		return nil, err
	}
	return v.run(func(index int) { _ = v.nodes[index].Stop() }), nil
}

func (v *validators) dial(from, to int) error {
	s, address := v.scenario, v.addresses[to]
	link := relay{delay: s.latency(from, to)}
	if len(s.Namespaces) == 0 {
		link.rateBytesPerSecond = s.RateBytesPerSecond
	}
	if link != (relay{}) {
		var err error
		if address, err = link.open(address); err != nil {
			return err
		}
	}
	peer, err := p2p.NewNetAddressString(fmt.Sprintf("%s@%s", v.nodes[to].NodeInfo().ID(), address))
	if err != nil {
		return err
	}
	return v.switches[from].DialPeerWithAddress(peer)
}

// inside calls a function in the network namespace of a validator, if it has one. A socket remains in
// the namespace in which it was opened.
func (s *scenario) inside(validator int, call func() error) error {
	if len(s.Namespaces) == 0 {
		return call()
	}
	result := make(chan error)
	go func() {
		// The thread is not unlocked, so that it ends with this goroutine: no other may use it.
		runtime.LockOSThread()
		if err := enter(s.Namespaces[validator].Name); err != nil {
			result <- err
			return
		}
		result <- call()
	}()
	return <-result
}

func enter(namespace string) error {
	file, err := os.Open("/run/netns/" + namespace)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("the network namespace %s cannot be entered: %w", namespace, err)
	}
	return nil
}

// relay is a link between two validators: bytes arrive after a delay, at a rate, in order, and both
// ways alike.
type relay struct {
	delay              time.Duration
	rateBytesPerSecond float64 // 0: no limit
}

// open connects to a validator, and returns the address at which the relay accepts the other one.
func (r relay) open(target string) (string, error) {
	far, err := net.Dial("tcp", target)
	if err != nil {
		return "", err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		far.Close()
		return "", err
	}
	go func() {
		defer listener.Close()
		near, err := listener.Accept()
		if err != nil {
			far.Close()
			return
		}
		go r.carry(near, far)
		r.carry(far, near)
	}()
	return listener.Addr().String(), nil
}

type piece struct {
	due  time.Time
	data []byte
}

func (r relay) carry(from, to net.Conn) {
	pieces := make(chan piece, 4096)
	go func() {
		defer to.Close()
		for p := range pieces {
			time.Sleep(time.Until(p.due))
			if _, err := to.Write(p.data); err != nil {
				break
			}
		}
		from.Close()
		for range pieces { // until the reader notices
		}
	}()
	defer close(pieces)
	var idle time.Time
	for {
		buffer := make([]byte, 16<<10)
		n, err := from.Read(buffer)
		if n > 0 {
			if now := time.Now(); idle.Before(now) {
				idle = now
			}
			if r.rateBytesPerSecond > 0 {
				idle = idle.Add(seconds(float64(n) / r.rateBytesPerSecond))
			}
			pieces <- piece{idle.Add(r.delay), buffer[:n]}
		}
		if err != nil {
			if err != io.EOF {
				from.Close()
			}
			return
		}
	}
}
