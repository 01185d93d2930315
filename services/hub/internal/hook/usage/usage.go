package usage

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"time"

	"parley.internal/services/hub/internal/hook/regular"
	"parley.internal/shared/hook/wire"
)

// Position is where the next reading of a record begins.
type Position struct {
	Path   string `json:"path,omitempty"`
	Offset int64  `json:"offset,omitempty"`
	// Model is the model that the last line about one named, for records that do not repeat it.
	Model string `json:"model,omitempty"`
	// Cost is the sum of dollars that has been reported.
	Cost float64 `json:"cost,omitempty"`
	// Agent means that the record is a subagent's, whose dollars are part of the session's.
	Agent bool `json:"agent,omitempty"`
	// Last is the id of the last call of a model that was read.
	Last string `json:"last,omitempty"`
	// Forked is the time at which the session was forked off another, with a copy of its record, zero for none. Own means
	// that the copy has been passed.
	Forked time.Time `json:"forked,omitzero"`
	Own    bool      `json:"own,omitempty"`
}

// The bounds of one reading. The rest is read the next time.
const (
	maxRead = 64 << 20
	maxLine = 16 << 20
)

// Read returns the next records of a session's file, at most n of them, and the position after the last. A line that is not
// complete yet is left for the next time. A file that is shorter than before is read from its beginning.
func Read(client, path string, from Position, n int) ([]wire.Usage, Position, error) {
	if path == "" || n <= 0 {
		return nil, from, nil
	}
	if from.Path != path {
		from = Position{Path: path, Agent: from.Agent, Forked: from.Forked}
	}
	f, err := regular.Open(path)
	if err != nil {
		return nil, from, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, from, err
	case info.Size() < from.Offset:
		from.Offset, from.Cost, from.Last, from.Own = 0, 0, "", false
	}
	if _, err := f.Seek(from.Offset, io.SeekStart); err != nil {
		return nil, from, err
	}
	return scan(client, io.LimitReader(f, maxRead), from, n)
}

// ReadAll returns the next records of several files, that of a session first and those of its subagents after it, at most n
// of them together, and the positions after the last. A subagent's file may be written later than its end is told.
func ReadAll(client string, from []Position, n int) (out []wire.Usage, next []Position, err error) {
	for i, at := range from {
		records, read, e := Read(client, at.Path, at, n-len(out))
		if i == 0 || !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
		out, next = append(out, records...), append(next, read)
	}
	return out, next, err
}

func scan(client string, r io.Reader, at Position, n int) ([]wire.Usage, Position, error) {
	var c collector
	in := bufio.NewReaderSize(r, 64<<10)
	for {
		line, skipped, err := readLine(in)
		if err == io.EOF {
			return c.out, at, nil
		}
		if err != nil {
			return c.out, at, err
		}
		next := at
		next.Offset += int64(len(line) + skipped)
		if u, ok := record(client, line, &next); ok && !c.take(u, n) {
			return c.out, at, nil
		}
		at = next
	}
}

// readLine returns a line with its end. Of one that is too long it returns nothing but the number of its bytes; one without
// an end is io.EOF.
func readLine(in *bufio.Reader) (line []byte, skipped int, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if skipped > 0 || len(line)+len(part) > maxLine {
			skipped, line = skipped+len(line)+len(part), nil
		} else {
			line = append(line, part...)
		}
		if err == nil {
			return line, skipped, nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, 0, err
		}
	}
}

// collector keeps one record for each id. Clients write a record again as it grows, so the last one counts.
type collector struct{ out []wire.Usage }

func (c *collector) take(u wire.Usage, n int) bool {
	for i := range c.out {
		if c.out[i].ID == u.ID {
			c.out[i] = u
			return true
		}
	}
	if len(c.out) == n {
		return false
	}
	c.out = append(c.out, u)
	return true
}

// codexLine is a line of Codex's record of a session.
type codexLine struct {
	Type    string `json:"type"`
	Payload struct {
		Model    string `json:"model"`
		Response string `json:"response_id"`
		Turn     string `json:"turn_id"`
		Usage    *struct {
			In     int64 `json:"input_tokens"`
			Cached int64 `json:"cached_input_tokens"`
			Out    int64 `json:"output_tokens"`
		} `json:"usage"`
	} `json:"payload"`
}

// record returns the record of a line, if it is one.
func record(client string, line []byte, at *Position) (wire.Usage, bool) {
	switch client {
	case "claude":
		if !bytes.Contains(line, []byte(`"usage"`)) && !bytes.Contains(line, []byte(`"cost-state"`)) {
			return wire.Usage{}, false
		}
		return claude(line, at)
	case "codex":
		if !bytes.Contains(line, []byte(`"token_usage_record"`)) && !bytes.Contains(line, []byte(`"turn_context"`)) {
			return wire.Usage{}, false
		}
		return codex(line, at)
	}
	return wire.Usage{}, false
}

func codex(line []byte, at *Position) (wire.Usage, bool) {
	var l codexLine
	if json.Unmarshal(line, &l) != nil {
		return wire.Usage{}, false
	}
	p := l.Payload
	if p.Model != "" && len(p.Model) <= 100 {
		at.Model = p.Model
	}
	if l.Type != "token_usage_record" || p.Usage == nil || !fit(p.Response) {
		return wire.Usage{}, false
	}
	u := p.Usage
	return checked(wire.Usage{ID: p.Response, Model: at.Model, TokensIn: u.In - u.Cached, TokensOut: u.Out, TokensCached: u.Cached})
}

func fit(id string) bool { return id != "" && len(id) <= 190 }

// checked cuts the model's name, and reports whether the counts of a record are possible and not all 0: for an
// impossible record the server would refuse the whole call.
func checked(u wire.Usage) (wire.Usage, bool) {
	const most = 1_000_000_000
	for _, n := range []int64{u.TokensIn, u.TokensOut, u.TokensCached} {
		if n < 0 || n > most {
			return wire.Usage{}, false
		}
	}
	if len(u.Model) > 100 {
		u.Model = u.Model[:100]
	}
	return u, u.TokensIn+u.TokensOut+u.TokensCached > 0
}
