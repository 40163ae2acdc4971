package main

import (
	"fmt"
	"io"
	"net"
	"time"
)

// runLoopback runs the validators over TCP on 127.0.0.1, through relays where links have a latency or
// a rate.
func runLoopback(s *scenario) ([]map[string]any, error) {
	v, err := newValidators(s)
	if err != nil {
		return nil, err
	}
	for _, n := range v.nodes {
		if err := n.Start(); err != nil {
			return nil, err
		}
	}
	// Every validator is connected to every other: the later one dials.
	for i, n := range v.nodes {
		var peers []string
		for j := range i {
			address := v.addresses[j]
			if delay := s.latency(i, j); delay > 0 || s.RateBytesPerSecond > 0 {
				if address, err = (relay{delay, s.RateBytesPerSecond}).open(address); err != nil {
					return nil, err
				}
			}
			peers = append(peers, fmt.Sprintf("%s@%s", v.nodes[j].NodeInfo().ID(), address))
		}
		if err := n.Switch().AddPersistentPeers(peers); err != nil {
			return nil, err
		}
		if err := n.Switch().DialPeersAsync(peers); err != nil {
			return nil, err
		}
	}
	return v.run(func(index int) { _ = v.nodes[index].Stop() }), nil
}

// relay is a link between two validators: bytes arrive after a delay, at a rate, in order, and both
// ways alike.
type relay struct {
	delay              time.Duration
	rateBytesPerSecond float64 // 0: no limit
}

// open listens for connections to a validator and returns the address.
func (r relay) open(target string) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", target)
			if err != nil {
				near.Close()
				continue
			}
			go r.carry(near, far)
			go r.carry(far, near)
		}
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
