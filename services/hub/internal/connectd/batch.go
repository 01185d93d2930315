package connectd

import (
	"slices"
	"time"

	"parley.internal/services/hub/internal/hook"
	state "parley.internal/services/hub/internal/hook/session"
	"parley.internal/shared/hook/wire"
)

// leased is the time for which the server gives mail that it handed over to nobody else.
const leased = 2 * time.Minute

// batch is mail that was fetched for the next hook. The server keeps it from every other reader meanwhile, the agent's own
// calls of get_messages among them, so that it is in no other answer.
type batch struct {
	out wire.HookOutput
	at  time.Time
}

// keep keeps mail for the next hook. Where other mail waits for it already, the server gives this once more.
func (s *session) keep(out wire.HookOutput) {
	if s.batch == nil {
		s.batch = &batch{out, s.daemon.Now()}
	}
}

// wantsAnswer reports whether mail that was fetched wants an answer, as the server's count of urgent mail does, which fetched
// mail has left.
func (b *batch) wantsAnswer() bool {
	return b != nil && (len(b.out.Answers) > 0 || slices.ContainsFunc(b.out.Mail, func(m wire.Mail) bool {
		return m.Type == "DIRECTIVE" || m.Type == "QUERY" || m.Priority == "high"
	}))
}

// again marks the mail as such that the model may have seen.
func (b *batch) again() {
	if b != nil {
		again(&b.out)
	}
}

func again(out *wire.HookOutput) {
	out.Mail, out.Answers = slices.Clone(out.Mail), slices.Clone(out.Answers)
	for i := range out.Mail {
		out.Mail[i].Again = true
	}
	for i := range out.Answers {
		out.Answers[i].Again = true
	}
}

// age is the time since the mail was fetched, negative without any.
func (s *session) age() time.Duration {
	if s.batch == nil {
		return -1
	}
	return s.daemon.Now().Sub(s.batch.at)
}

// stale reports whether mail was fetched so long ago that others may have it before it is shown.
func (s *session) stale() bool { return s.age() >= state.Stale }

// joined adds mail that was fetched before to the server's answer, which is nil without one in time. Mail that the server does not
// keep for the session any more is left to it, unless it does not answer: then the mail is shown, as such that may come twice.
func (s *session) joined(call hook.Call, event wire.Event, out *wire.HookOutput) *wire.HookOutput {
	b := s.batch
	if b == nil || event != wire.Prompt && event != wire.Tool && event != wire.Turn {
		return out
	}
	if out == nil {
		return s.remembered(call, event)
	}
	if s.age() >= leased {
		s.batch = nil
		return out
	}
	if out.Receipt == "" && s.roomFor(call, event) > 0 {
		s.move(out)
	}
	return out // a receipt stands for one answer of the server: the rest is for the next hook
}

// roomFor returns how much mail the answer to a hook may have.
func (s *session) roomFor(call hook.Call, event wire.Event) int {
	if call.Kind == hook.Turn && s.st.MayContinue(s.conn) && (s.st.WantsAnswer() || s.batch.wantsAnswer()) {
		return state.AskTurn
	}
	return s.st.Room(call, event)
}

// remembered returns the answer of the server as far as it is known here: the state, and mail that was fetched.
func (s *session) remembered(call hook.Call, event wire.Event) *wire.HookOutput {
	if s.st.SessionID == "" {
		return nil
	}
	out := wire.HookOutput{Version: wire.Version, SessionID: s.st.SessionID, Program: s.st.Program, Verified: s.st.Verified,
		Thread: s.thread, Pause: s.st.Pause, Waiting: s.st.Waiting}
	if s.batch != nil && s.roomFor(call, event) > 0 {
		if s.age() >= leased {
			s.batch.again()
		}
		s.move(&out)
	}
	return &out
}

// unshown adds to the reasons that the server tells those of before whose mail was fetched and not shown, which it tells no more.
func (s *session) unshown(told, before []wire.Wake) []wire.Wake {
	out := slices.Clone(told)
	for _, r := range before {
		if s.batch.has(r.ID) && !slices.ContainsFunc(told, func(w wire.Wake) bool { return w.ID == r.ID }) {
			out = append(out, r)
		}
	}
	return out
}

func (b *batch) has(id string) bool {
	return b != nil && (slices.ContainsFunc(b.out.Mail, func(m wire.Mail) bool { return m.MessageID == id }) ||
		slices.ContainsFunc(b.out.Answers, func(a wire.Answer) bool { return a.QuestionID == id }))
}

// move moves the mail that was fetched into an answer.
func (s *session) move(out *wire.HookOutput) {
	b := s.batch.out
	out.Mail, out.Answers, out.Receipt, out.More, s.batch = b.Mail, b.Answers, b.Receipt, b.More, nil
	if len(out.Claims) == 0 {
		out.Claims = b.Claims
	}
	if out.Files == nil {
		out.Files = b.Files
	}
}
