package session

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"parley.internal/services/hub/internal/connect/connection"
	"parley.internal/services/hub/internal/hook"
	"parley.internal/shared/hook/wire"
)

// The sizes that are asked for. The server counts JSON, and a text for a model has a bar before each line.
const (
	askStart = 1200
	askCall  = 700
	leastAsk = 250
)

// Event returns the event of a call for the server. It is empty where there is nothing to tell it.
func (s *State) Event(c hook.Call) wire.Event {
	switch c.Kind {
	case hook.Start:
		return wire.Start
	case hook.Resume:
		return wire.Resume
	case hook.Compacted:
		return wire.Compact
	case hook.Prompt, hook.After:
		if s.Retell && c.TakesText() {
			return wire.Compact
		}
		if c.Kind == hook.Prompt {
			return wire.Prompt
		}
		return wire.Tool
	case hook.Before:
		return wire.Tool
	case hook.Edit:
		return wire.Edit
	case hook.Turn:
		return wire.Turn
	case hook.End:
		return wire.End
	}
	return ""
}

// Room returns how much mail a call may bring.
func (s *State) Room(c hook.Call, e wire.Event) int {
	switch {
	case s.Pause != nil || !c.TakesText():
		return 0
	case e == wire.Start || e == wire.Resume || e == wire.Compact:
		return askStart
	case e == wire.Prompt || e == wire.Tool && c.Kind == hook.After:
		if left := hook.MaxTurn - s.TurnBytes; left >= leastAsk+150 {
			return min(askCall, left-150)
		}
	}
	return 0
}

// Input returns the server's input for a call.
func (s *State) Input(c hook.Call, e wire.Event, maxBytes int) wire.HookInput {
	in := wire.HookInput{Version: wire.Version, Client: s.Client, Event: e, Thread: s.Thread, SessionID: s.SessionID, Doing: c.Doing,
		MaxBytes: maxBytes}
	if len(s.Receipts) > 0 {
		in.Receipt = s.Receipts[0]
	}
	switch e {
	case wire.Edit:
		in.Paths = s.Repo.Files(s.Dir, c.Paths)
		fallthrough
	case wire.Start, wire.Resume, wire.Prompt, wire.Compact, wire.Tool:
		in.Directory, in.Branch = cut(s.Dir, 300), cut(s.Repo.Branch(), 200)
		in.Worktree, in.Project = cut(s.Repo.Worktree, 200), cut(s.Repo.Project, 300)
		in.ClientVersion, in.Model, in.Headless = cut(s.Version, 40), cut(s.Model, 100), s.Headless
		host, _ := os.Hostname() // for people alone
		in.Host = cut(host, 100)
	}
	if e == wire.Start && s.Dir != "" {
		in.Name = cut(s.Client+" in "+filepath.Base(s.Dir), 200)
	}
	return in
}

// Rules returns the person's rules of a connection for permission requests, for the events that tell them to the server.
// More than it takes are left out.
func Rules(e wire.Event, p connection.Permissions) *wire.Permissions {
	if e != wire.Start && e != wire.Resume && e != wire.Prompt {
		return nil
	}
	patterns := func(all []string) (out []string) {
		for _, pattern := range all[:min(len(all), 50)] {
			out = append(out, cut(pattern, 200))
		}
		return out
	}
	if !p.On {
		return &wire.Permissions{}
	}
	return &wire.Permissions{On: true, Assurance: cut(p.Asked(), 40), Timeout: int64(max(0, min(p.Timeout, 86400))),
		Allow: patterns(p.Allow), Deny: patterns(p.Deny)}
}

// cut bounds a text by the characters that the server takes.
func cut(text string, n int) string {
	if r := []rune(strings.ToValidUTF8(text, "\uFFFD")); len(r) > n {
		return string(r[:n])
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// Reply returns the output for the client, and the receipt of the mail and answers in it. An out of nil stands for a
// server that did not answer in time.
func (s *State) Reply(c hook.Call, e wire.Event, out *wire.HookOutput, conn connection.Connection) (hook.Reply, string) {
	if c.Kind == hook.Before || c.Kind == hook.Edit {
		if s.Pause != nil {
			return c.Deny(hook.PauseReason(*s.Pause)), ""
		}
		return s.files(c, out), ""
	}
	if out == nil {
		return hook.Reply{}, ""
	}
	if c.Kind == hook.Turn {
		return s.turn(c, *out, conn)
	}
	var text string
	switch e {
	case wire.Start, wire.Resume, wire.Compact:
		text, s.Retell = hook.Brief(*out), false
	default:
		text = s.news(c, *out)
	}
	r := c.Say(text)
	if r.Quiet() {
		return r, ""
	}
	s.TurnBytes += len(text)
	s.Told = s.Waiting
	return r, out.Receipt
}

// news returns the news of an answer, at a prompt the number of wakes held back, and the counts of waiting work where
// they have grown.
func (s *State) news(c hook.Call, out wire.HookOutput) string {
	text := hook.News(out, max(0, hook.MaxTurn-s.TurnBytes))
	if f := out.Files; f != nil && f.Verdict != wire.Pass && len(f.Reason) > 0 {
		text = join(text, "Parley: "+hook.Reason(f.Reason))
	}
	if c.Kind == hook.Prompt {
		if n := s.Wake.TakeHeld(); n > 0 {
			text = join(text, hook.HeldBack(n))
		}
	}
	rest := s.Waiting
	rest.Questions = 0
	if len(out.Mail)+len(out.Answers) > 0 {
		rest.Mail, rest.Urgent, rest.Answers = 0, 0, 0 // told with the mail
	}
	grown := rest.Mail > s.Told.Mail || rest.Answers > s.Told.Answers || c.Kind == hook.Prompt && rest.Tasks > s.Told.Tasks
	if rest.Mail+rest.Answers > 0 && out.Receipt == "" && s.Room(c, wire.Tool) > 0 && c.Kind == hook.After {
		grown = false // it comes with the next calls
	}
	if grown {
		text = join(text, hook.Count(rest))
	}
	return text
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n" + b
}

// files returns the reply before an edit.
func (s *State) files(c hook.Call, out *wire.HookOutput) hook.Reply {
	if c.Kind != hook.Edit {
		return hook.Reply{}
	}
	if out == nil {
		if s.Repo.Strict() && len(s.Repo.Files(s.Dir, c.Paths)) > 0 {
			return c.Deny(hook.Unanswered)
		}
		return hook.Reply{}
	}
	f := out.Files
	if f == nil {
		return hook.Reply{}
	}
	switch f.Verdict {
	case wire.Deny:
		return c.Deny(hook.Reason(f.Reason))
	case wire.Warn:
		return c.Say("Parley: " + hook.Reason(f.Reason))
	}
	return hook.Reply{}
}

// MayContinue reports whether the end of a turn may continue it.
func (s *State) MayContinue(conn connection.Connection) bool {
	return (s.Headless || conn.Wake.Continue) && !s.Interrupted && s.Pause == nil && s.Continued < MaxContinued
}

// WantsAnswer reports whether something waits for which a turn is continued.
func (s *State) WantsAnswer() bool {
	return s.Waiting.Urgent+s.Waiting.Answers > 0 || s.Waiting.Held > 0
}

// AskTurn is how much mail the end of a turn may bring, where it is continued.
const AskTurn = askCall

// turn returns the reply to the end of a turn: it continues the turn with messages that want an answer, where that is
// allowed.
func (s *State) turn(c hook.Call, out wire.HookOutput, conn connection.Connection) (hook.Reply, string) {
	if !s.MayContinue(conn) || !s.WantsAnswer() && len(out.Mail)+len(out.Answers) == 0 {
		return hook.Reply{}, ""
	}
	text := hook.News(out, hook.MaxCall)
	for _, claim := range s.Claims {
		text = join(text, hook.OpenTask(claim))
	}
	r := c.Continue(text)
	if r.Quiet() {
		return r, ""
	}
	s.Continued++
	s.InTurn = true
	s.TurnBytes = len(text)
	return r, out.Receipt
}

// Stale is the time after which mail that was fetched and not shown is fetched anew: the server gives it to others later on.
const Stale = 90 * time.Second
