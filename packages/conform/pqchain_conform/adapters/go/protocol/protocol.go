// Package protocol reads cases as lines of JSON from stdin and writes answers to stdout.
package protocol

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"os"
	"time"
)

// Case is a signature to verify, a key to encapsulate to, or a ciphertext to decapsulate. The byte
// strings of the other operations are empty.
type Case struct {
	ID               uint64 `json:"id"`
	Operation        string `json:"operation"`
	Algorithm        string `json:"algorithm"`
	PublicKey        Bytes  `json:"public_key"`
	Message          Bytes  `json:"message"`
	Context          Bytes  `json:"context"`
	Signature        Bytes  `json:"signature"`
	EncapsulationKey Bytes  `json:"encapsulation_key"`
	DecapsulationKey Bytes  `json:"decapsulation_key"`
	Ciphertext       Bytes  `json:"ciphertext"`
	Repeat           int    `json:"repeat"`

	// SharedSecret is the result of a decapsulation.
	SharedSecret Bytes `json:"-"`

	last  time.Time
	parts map[string][]int64
}

// Lap ends a part of the verification: "decode_key" or "decode_signature". The rest is verification.
func (c *Case) Lap(part string) {
	now := time.Now()
	c.parts[part] = append(c.parts[part], now.Sub(c.last).Nanoseconds())
	c.last = now
}

type answer struct {
	ID          uint64             `json:"id"`
	Verdict     string             `json:"verdict"`
	Nanoseconds []int64            `json:"nanoseconds"`
	Parts       map[string][]int64 `json:"parts"`
	Secret      Bytes              `json:"shared_secret,omitempty"`
}

// Bytes are written as hexadecimal digits.
type Bytes []byte

// UnmarshalText reads hexadecimal digits.
func (b *Bytes) UnmarshalText(text []byte) error {
	decoded, err := hex.DecodeString(string(text))
	*b = decoded
	return err
}

// MarshalText writes hexadecimal digits.
func (b Bytes) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(b)), nil }

// Judge returns the name of a verdict.
func Judge(valid bool) string {
	if valid {
		return "accept"
	}
	return "reject"
}

func guarded(verify func(*Case) string, c *Case) (verdict string) {
	defer func() {
		if recover() != nil {
			verdict = "panic"
		}
	}()
	return verify(c)
}

// Serve answers requests until stdin ends.
func Serve(verify func(*Case) string) {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(make([]byte, 1<<20), 1<<26)
	out := json.NewEncoder(os.Stdout)
	for in.Scan() {
		var c Case
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			panic(err)
		}
		c.parts = map[string][]int64{}
		a := answer{ID: c.ID, Parts: c.parts}
		for i := 0; i == 0 || i < c.Repeat; i++ {
			start := time.Now()
			c.last = start
			a.Verdict = guarded(verify, &c)
			a.Nanoseconds = append(a.Nanoseconds, time.Since(start).Nanoseconds())
		}
		a.Secret = c.SharedSecret
		if err := out.Encode(a); err != nil {
			panic(err)
		}
	}
}
