package team

import (
	"strings"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/op"
)

var ann = domaintest.Bound("u", "ann")

// mailed returns a team with the member ann, with two unread messages from alpha beside her prompt, which is read.
func (w *world) mailed() {
	w.t.Helper()
	w.team("core", "ann")
	w.unread(ReadInput{})
	for _, text := range []string{"one", "two"} {
		w.send(alpha, SendInput{Type: "message", Recipient: "ann", Content: text, Summary: "s"})
	}
}

// unread reads the unread messages of ann.
func (w *world) unread(in ReadInput) InboxOutput {
	w.t.Helper()
	in.TeamName, in.AgentName, in.UnreadOnly = "core", "ann", true
	return domaintest.Must(w.ReadInbox(w.t.Context(), ann, in))(w.t)
}

// seen returns the texts of messages, each marked that may have been read before.
func seen(out InboxOutput) string {
	var texts []string
	for _, m := range out.Messages {
		text := m.Text
		if m.Again {
			text += "(again)"
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, " ")
}

func TestAReadWithAReceiptHasTheMessagesBehindThoseThatItConfirms(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.mailed()
		for _, pass := range []time.Duration{0, comeAgain + time.Second} {
			first := w.unread(ReadInput{Confirm: true, Limit: 1})
			w.Pass(pass)
			if second := w.unread(ReadInput{Confirm: true, Receipt: first.Receipt, Limit: 1}); seen(first) != "one" || seen(second) != "two" {
				t.Errorf("after %v: read %q, and then %q", pass, seen(first), seen(second))
			}
			w.unread(ReadInput{}) // held messages stay
			w.Pass(comeAgain)
			w.unread(ReadInput{})
			for _, text := range []string{"one", "two"} {
				w.send(alpha, SendInput{Type: "message", Recipient: "ann", Content: text, Summary: "s"})
			}
		}
	})
}

func TestAReceiptConfirmsAReadOfAnInbox(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.mailed()
		first := w.unread(ReadInput{Confirm: true})
		if seen(first) != "one two" || first.Receipt == "" {
			t.Fatalf("read %+v", first)
		}
		if out := w.unread(ReadInput{Confirm: true}); seen(out) != "" || out.Receipt != "" {
			t.Errorf("read at once: %+v", out)
		}
		w.unread(ReadInput{Confirm: true, Receipt: first.Receipt})
		w.Pass(comeAgain)
		if out := w.unread(ReadInput{}); seen(out) != "" {
			t.Errorf("after the confirmation: %+v", out)
		}
	})
}

func TestAnUnconfirmedReadOfAnInboxComesAgain(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.mailed()
		for _, want := range []string{"one two", "one(again) two(again)", "one(again) two(again)"} {
			if out := w.unread(ReadInput{Confirm: true}); seen(out) != want {
				t.Errorf("read %q, want %q", seen(out), want)
			}
			w.Pass(comeAgain)
		}
		if out := w.unread(ReadInput{}); seen(out) != "one(again) two(again)" {
			t.Errorf("read without a receipt: %+v", out)
		}
		if out := w.unread(ReadInput{}); seen(out) != "" {
			t.Errorf("read once more: %+v", out)
		}
	})
}

func TestAPollThatWaitsGetsWhatIsDueAgain(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.mailed()
		w.unread(ReadInput{Confirm: true})
		w.Pass(comeAgain - 300*time.Millisecond)
		w.Clock.Tick()
		wait := 50_000
		out := domaintest.Must(w.PollInbox(t.Context(), ann, PollInput{TeamName: "core", AgentName: "ann", TimeoutMs: &wait}))(t)
		if seen(out) != "one(again) two(again)" {
			t.Errorf("the wait has %q", seen(out))
		}
	})
}

func TestAnInboxWhoseAnswerIsNotDeliveredStaysUnread(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.mailed()
		catalogue := op.NewCatalogue(w.Operations())
		for _, name := range []string{"team_read_inbox", "team_poll_inbox"} {
			in := `{"team_name":"core","agent_name":"ann","unread_only":true}`
			if name == "team_poll_inbox" {
				in = `{"team_name":"core","agent_name":"ann","timeout_ms":1}`
			}
			res := domaintest.Must(catalogue.Call(t.Context(), catalogue.Op(name),
				op.Call{Caller: ann, Input: op.Parse([]byte(in))}))(t)
			if !strings.Contains(string(res.Data), "two") || !res.Consumed() {
				t.Fatalf("%s answered %s", name, res.Data)
			}
			domaintest.Check(t, res.Undelivered(t.Context()))
		}
		if out := w.unread(ReadInput{}); seen(out) != "one(again) two(again)" {
			t.Errorf("the next read has %+v", out)
		}
		w.Pass(time.Second)
		if out := w.unread(ReadInput{}); seen(out) != "" {
			t.Errorf("the read after it has %+v", out)
		}
	})
}

func TestAPeekAtAnInboxTakesNoReceipt(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.mailed()
		_, err := w.ReadInbox(t.Context(), ann, ReadInput{TeamName: "core", AgentName: "ann", MarkAsRead: new(false), Confirm: true})
		domaintest.Refused(t, "a confirmation", err, fault.Invalid, "mark_as_read")
	})
}
