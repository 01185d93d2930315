package team

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
)

// polls asks for work as the runner r.
func (w *world) polls() {
	w.t.Helper()
	domaintest.Must(w.ListProcesses(w.t.Context(), runs, ProcessesInput{TeamName: "core", Runner: "r"}))(w.t)
}

func TestASpawnSaysWhetherARunnerIsThere(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.team("core")
		start := " Start one on the machine where the agent is to work: parley runner --team core."
		if got := w.spawn("core", "ann", ByRunner); got.Warning != "No runner of this team was ever heard of."+start ||
			!strings.HasSuffix(got.Message, got.Warning) || got.State != Requested {
			t.Errorf("%+v", got)
		}
		if got := w.spawn("core", "bob", External); got.Warning != "" {
			t.Errorf("one that is started elsewhere: %+v", got)
		}
		w.polls()
		w.Pass(quiet - time.Second)
		if got := w.spawn("core", "cid", ByRunner); got.Warning != "" || !strings.HasSuffix(got.Message, "starts its process.") {
			t.Errorf("%+v", got)
		}
		w.Pass(time.Second)
		if got := w.spawn("core", "dan", ByRunner); got.Warning != "No runner of this team was heard of since 2026-03-01T12:00:00.000Z."+start {
			t.Errorf("%+v", got)
		}
		// The wait of a runner counts, and the call of another caller does not.
		for _, in := range []ProcessesInput{{TeamName: "core"}, {TeamName: "core", WaitMs: 1}} {
			domaintest.Must(w.ListProcesses(t.Context(), alpha, in))(t)
		}
		if got := w.spawn("core", "eve", ByRunner); got.Warning == "" {
			t.Errorf("%+v", got)
		}
		domaintest.Must(w.ListProcesses(t.Context(), runs, ProcessesInput{TeamName: "core", Runner: "r", WaitMs: 55_000}))(t)
		w.Pass(quiet + 5*time.Second)
		if got := w.spawn("core", "fay", ByRunner); got.Warning != "" {
			t.Errorf("%+v", got)
		}
	})
}

func TestARunnerOfAnEarlierTeamOfTheNameIsNotHeard(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.team("core")
		w.polls()
		domaintest.Must(w.Delete(t.Context(), alpha, NameInput{"core"}))(t)
		w.team("core")
		if got := w.spawn("core", "ann", ByRunner); !strings.Contains(got.Warning, "ever heard of") {
			t.Errorf("%+v", got)
		}
	})
}

func TestTheLeadIsToldOfAProcessThatNeverRan(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for name, c := range map[string]struct {
			report ReportInput
			words  string
		}{
			"ann": {ReportInput{State: Failed, Error: "Could not find 'claude' binary on PATH."},
				"ann has no process any more: it could not be run (Could not find 'claude' binary on PATH.)."},
			"bob": {ReportInput{State: Exited, ExitCode: new(3)}, "bob has no process any more: it exited with code 3."},
			"cid": {ReportInput{State: Killed, Signal: "killed"}, "cid has no process any more: it was killed by killed."},
		} {
			if _, err := w.ReadConfig(t.Context(), human, NameInput{"core"}); err != nil {
				w.team("core")
			}
			id := w.spawn("core", name, ByRunner).ProcessID
			domaintest.Must(w.ClaimProcess(t.Context(), runs, ClaimInput{TeamName: "core", ProcessID: id, Runner: "r"}))(t)
			in := c.report
			in.TeamName, in.ProcessID, in.Runner = "core", id, "r"
			before := len(w.inbox("core", Lead))
			for range 2 { // a repeated report tells it once
				domaintest.Must(w.ReportProcess(t.Context(), runs, in))(t)
			}
			if got := w.inbox("core", Lead); len(got) != before+1 || got[before].Text != c.words || got[before].From != system {
				t.Errorf("%s: %+v", name, got)
			}
		}
	})
}

func TestAConfigShowsTheProcessesOfItsMembers(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.team("core", "bob")
		id := w.spawn("core", "ann", ByRunner).ProcessID
		read := func(c identity.Caller) []ProcessView {
			return domaintest.Must(w.ReadConfig(t.Context(), c, NameInput{"core"}))(t).Processes
		}
		if got := read(alpha); len(got) != 1 || got[0].Name != "ann" || got[0].State != Requested || got[0].ProcessID != id {
			t.Errorf("%+v", got)
		}
		domaintest.Must(w.ClaimProcess(t.Context(), runs, ClaimInput{TeamName: "core", ProcessID: id, Runner: "r"}))(t)
		domaintest.Must(w.ReportProcess(t.Context(), runs, ReportInput{TeamName: "core", ProcessID: id, Runner: "r", State: Exited,
			ExitCode: new(2)}))(t)
		if got := read(human); len(got) != 1 || got[0].State != Exited || *got[0].ExitCode != 2 || !got[0].EndedAt.Equal(w.Now()) {
			t.Errorf("%+v", got)
		}
		if got := read(beta); got == nil || len(got) != 0 {
			t.Errorf("another program reads %+v", got)
		}
	})
}

func TestALeadHasItsModelDirectoryAndColor(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		domaintest.Must(w.Create(t.Context(), alpha, CreateInput{TeamName: "core", Model: "opus", Cwd: "/work"}))(t)
		if m := w.config("core").Members[0]; m.Model != "opus" || m.Cwd != "/work" || m.Color != nil {
			t.Errorf("%+v", m)
		}
		ann, bob := w.spawn("core", "ann", External), w.spawn("core", "bob", External)
		if got := w.last("core", "ann"); got.Color != leadColor || slices.Contains(colors, leadColor) {
			t.Errorf("the prompt: %+v", got)
		}
		for sender, color := range map[string]string{Lead: leadColor, "ann": ann.Color} {
			out := domaintest.Must(w.Send(t.Context(), human, SendInput{TeamName: "core", Type: "message", Sender: sender,
				Recipient: "bob", Content: "c", Summary: "s"}))(t)
			if got := w.last("core", "bob"); got.Color != color || out.Routing.TargetColor != bob.Color {
				t.Errorf("%s: %+v, %+v", sender, got, out.Routing)
			}
			domaintest.Must(w.Send(t.Context(), human, SendInput{TeamName: "core", Type: "broadcast", Sender: sender,
				Content: "c", Summary: "s"}))(t)
			if got := w.last("core", "bob"); got.Color != color {
				t.Errorf("%s to all: %+v", sender, got)
			}
		}
		w.tasks("core", 1)
		w.updated(UpdateTaskInput{TaskID: "1", Owner: new("ann")})
		if got := w.last("core", "ann"); got.Color != leadColor {
			t.Errorf("the assignment: %+v", got)
		}
		if out := domaintest.Must(w.Send(t.Context(), human, SendInput{TeamName: "core", Type: "message", Sender: "ann",
			Recipient: Lead, Content: "c", Summary: "s"}))(t); out.Routing.TargetColor != leadColor {
			t.Errorf("%+v", out.Routing)
		}
	})
}

func TestAMemberThatIsSpawnedAgainStartsWithItsPrompt(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.team("core", "ann")
		domaintest.Must(w.Send(t.Context(), alpha, SendInput{TeamName: "core", Type: "shutdown_request", Recipient: "ann"}))(t)
		domaintest.Must(w.ShutdownApproved(t.Context(), alpha, MemberInput{"core", "ANN"}))(t)
		if got := w.inbox("core", "ann"); len(got) != 2 {
			t.Errorf("what the former member got is %+v", got)
		}
		w.tasks("core", 1)
		w.updated(UpdateTaskInput{TaskID: "1", Owner: new("ann")}) // waits for the next one
		w.spawn("core", "ann", External)
		read := func(in ReadInput) []Message {
			in.TeamName, in.Limit = "core", maxPage
			return domaintest.Must(w.ReadInbox(t.Context(), human, in))(t).Messages
		}
		for _, in := range []ReadInput{{AgentName: "ann", UnreadOnly: true}, {AgentName: "Ann"}} {
			in.MarkAsRead = new(false)
			got := read(in)
			if len(got) != 2 || !strings.Contains(got[0].Text, "task_assignment") || got[1].Text != "do it, ann" {
				t.Errorf("%+v: %+v", in, got)
			}
		}
		if got := domaintest.Must(w.PollInbox(t.Context(), human, PollInput{TeamName: "core", AgentName: "ann",
			TimeoutMs: new(0)}))(t).Messages; len(got) != 2 || strings.Contains(got[0].Text+got[1].Text, "shutdown") {
			t.Errorf("%+v", got)
		}
		a := domaintest.Must(w.Export(t.Context(), alpha, "core"))(t)
		if got := a.Inboxes["ann"]; len(got) != 2 || got[1].Text != "do it, ann" {
			t.Errorf("exported are %+v", got)
		}
	})
}

func TestAnExportKeepsExplicitNulls(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a := archive()
		a.Tasks[1].Metadata = []byte(`{"kept":null,"n":[1.50,null]}`)
		a.Nulls = Nulls{"config": {"description"}, "members/team-lead": {"model"}, "members/ann": {"color", "prompt"},
			"tasks/2": {"owner", "metadata"}, "inboxes/ann/1": {"summary"}, "inboxes/gone/0": {"color"}}
		if err := w.Import(t.Context(), alpha, a); err != nil {
			t.Fatal(err)
		}
		got, err := w.Export(t.Context(), human, "core")
		if err != nil || asJSON(t, got) != asJSON(t, a) {
			t.Errorf("%s\n%s\n%v", asJSON(t, got), asJSON(t, a), err)
		}
		// The fields of a member that left are not those of the next one.
		domaintest.Must(w.Kill(t.Context(), alpha, MemberInput{"core", "ann"}))(t)
		w.spawn("core", "ann", External)
		got = domaintest.Must(w.Export(t.Context(), human, "core"))(t)
		if got.Nulls["members/ann"] != nil || got.Nulls["tasks/2"] == nil {
			t.Errorf("%+v", got.Nulls)
		}
	})
}

func TestABroadcastIsBoundedInBytesBeforeItIsSent(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const mates = 60
		w.team("core")
		for i := range mates {
			w.spawn("core", fmt.Sprintf("m%02d", i), External)
		}
		room := maxBatch/mates - copyCost - len("s")
		send := func(content string) error {
			_, err := w.Send(t.Context(), alpha, SendInput{TeamName: "core", Type: "broadcast", Summary: "s", Content: content})
			return err
		}
		says(t, send(strings.Repeat("x", room+1)), fault.Precondition, fmt.Sprintf("the broadcast is too long for %d members: "+
			"with the content and the summary it may have at most %d bytes, not %d; shorten it, or send it to each member that "+
			"needs it", mates, room+1, room+2))
		// The limit is in bytes: this text has as many characters as the schema allows.
		domaintest.Refused(t, "wide", send(strings.Repeat("\u4e16", 32000)), fault.Precondition, "is too long")
		if got := w.inbox("core", "m00"); len(got) != 1 {
			t.Errorf("a refused broadcast left %d messages", len(got))
		}
		domaintest.Check(t, send(strings.Repeat("x", room)))
		for _, name := range []string{"m00", "m59"} {
			if got := w.inbox("core", name); len(got) != 2 || len(got[1].Text) != room {
				t.Errorf("%s has %d messages", name, len(got))
			}
		}
	})
}

func TestAReadMessageIsDeletedAfterALongTime(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const keep = 90 * 24 * time.Hour
		w.Keep = keep
		w.team("core", "ann")
		w.Pass(time.Hour)
		stored := func() storedMessage {
			t.Helper()
			d := domaintest.Must(teams.Get(t.Context(), w.DB.User("u"), docID("core")))(t)
			return domaintest.Must(messages.Under(d.ID).Get(t.Context(), w.DB.User("u"), messageDocID(1, "ann")))(t)
		}
		if m := stored(); m.Read || !m.PurgeAt.IsZero() {
			t.Errorf("unread: %+v", m)
		}
		read := ReadInput{TeamName: "core", AgentName: "ann", MarkAsRead: new(true), Limit: maxPage}
		for range 2 { // reading it again keeps it no longer
			domaintest.Must(w.ReadInbox(t.Context(), domaintest.Bound("u", "ann"), read))(t)
			if m := stored(); !m.Read || !m.PurgeAt.Equal(domaintest.Start.Add(time.Hour+keep)) {
				t.Errorf("read: %+v", m)
			}
			w.Pass(time.Hour)
		}
	})
}
