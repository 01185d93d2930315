package pulse

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/fault"
	"parley.internal/shared/identity"
	"parley.internal/shared/op"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

// call runs an operation with JSON input, as a transport does.
func (w *world) call(c identity.Caller, name, args string) (View, error) {
	w.t.Helper()
	var v View
	catalogue := op.NewCatalogue(w.Operations())
	res, err := catalogue.Call(w.t.Context(), catalogue.Op(name), op.Call{Caller: c, Input: op.Parse([]byte(args))})
	if err == nil {
		err = json.Unmarshal(res.Data, &v)
	}
	return v, err
}

func TestOmittedFieldsOfAnUpdateStay(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		want := w.create(alpha, CreateInput{SessionID: "s", Name: "n", Status: new("busy"), State: Pinned,
			Progress: new(40), ProjectName: new("p")}).View
		for _, step := range []struct {
			args string
			then func(*View)
		}{
			{`{"sessionId":"s","progress":0}`, func(v *View) { v.Progress = 0 }},
			{`{"sessionId":"s","progress":100}`, func(v *View) { v.Progress = 100 }},
			{`{"sessionId":"s","status":"idle"}`, func(v *View) { v.Status = "idle" }},
			{`{"sessionId":"s","status":""}`, func(v *View) { v.Status = "" }},
			{`{"sessionId":"s","projectName":"q"}`, func(v *View) { v.ProjectName = "q" }},
			{`{"sessionId":"s","projectName":""}`, func(v *View) { v.ProjectName = "" }},
			{`{"sessionId":"s","state":"working"}`, func(v *View) { v.State, v.Lifecycle = Working, task.Active }},
			{`{"sessionId":"s","state":"blocked","status":"no disk","lastHeartbeat":true}`,
				func(v *View) { v.State, v.Lifecycle, v.Status = Blocked, task.Blocked, "no disk" }},
			{`{"sessionId":"s","state":"pinned"}`, func(v *View) { v.State = Pinned }},
		} {
			w.Pass(time.Minute)
			step.then(&want)
			want.UpdatedAt, want.LastHeartbeat = w.Now(), w.Now()
			v, err := w.call(alpha, "update_session", step.args)
			if err != nil || v != want {
				t.Errorf("%s: %+v, %v, want %+v", step.args, v, err, want)
			}
			if got := w.get("s"); got != want {
				t.Errorf("%s is kept as %+v", step.args, got)
			}
		}
	})
}

func TestInputsAreBounded(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.create(alpha, CreateInput{SessionID: "s"})
		long := strings.Repeat("x", 201)
		for args, name := range map[string]string{
			`{"sessionId":"s","progress":101}`: "update_session", `{"sessionId":"s","progress":-1}`: "update_session",
			`{"sessionId":"s","state":"done"}`:          "update_session",
			`{"sessionId":"s","status":"` + long + `"}`: "update_session", `{"name":"` + long + `"}`: "create_session",
			`{}`: "create_session", `{"name":""}`: "create_session",
			`{"name":"n","programId":"` + long[:51] + `"}`:  "create_session",
			`{"name":"n","sessionId":"a/b/c"}`:              "create_session",
			`{"name":"n","sessionId":"` + long[:101] + `"}`: "create_session",
			`{"limit":51}`: "list_sessions", `{"limit":0}`: "list_sessions", `{"state":"derezzed"}`: "list_sessions",
		} {
			_, err := w.call(alpha, name, args)
			domaintest.Refused(t, name+" "+args, err, fault.Invalid)
		}
	})
}

func TestACompleteSessionMustWorkBeforeItIsBlocked(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.create(alpha, CreateInput{SessionID: "s"})
		w.Pass(time.Minute)
		if v := w.update(alpha, UpdateInput{SessionID: "s", State: Complete}); v.Lifecycle != task.Done || v.Live ||
			!v.EndedAt.Equal(w.Now()) {
			t.Errorf("complete: %+v", v)
		}
		_, err := w.Update(t.Context(), alpha, UpdateInput{SessionID: "s", State: Blocked, Status: new("kept out")})
		domaintest.Refused(t, "blocked", err, fault.Precondition, "Invalid transition for session: done → blocked")
		if v := w.get("s"); v.State != Complete || v.Status != "" {
			t.Errorf("the refused update left %+v", v)
		}
		if v := w.update(alpha, UpdateInput{SessionID: "s", State: Working}); v.Lifecycle != task.Active || !v.Live ||
			!v.EndedAt.IsZero() {
			t.Errorf("working again: %+v", v)
		}
	})
}

func TestUpdatesOfMissingSessionsNameTheRemedy(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		w.create(alpha, CreateInput{SessionID: "over"})
		w.Pass(2 * time.Hour)
		w.sweep(10)
		w.create(stranger, CreateInput{SessionID: "theirs"})
		w.create(stranger, CreateInput{SessionID: "newer"})
		for _, in := range []UpdateInput{{LastHeartbeat: true}, {Progress: new(1)}} {
			for _, id := range []string{"nowhere", "theirs"} {
				in.SessionID = id
				_, err := w.Update(t.Context(), alpha, in)
				domaintest.Refused(t, id, err, fault.NotFound,
					`no session with id "`+id+`"; create_session with the same id starts or revives it`)
			}
			in.SessionID = "over"
			_, err := w.Update(t.Context(), alpha, in)
			domaintest.Refused(t, "over", err, fault.Precondition, "create_session with the same id revives it")
			if _, found := fetch(w, heartbeats, "over"); found {
				t.Error("an ended session beats")
			}
			in.SessionID = ""
			_, err = w.Update(t.Context(), alpha, in)
			domaintest.Refused(t, "none live", err, fault.NotFound, "alpha", "create_session")
			_, err = w.Update(t.Context(), loose, in)
			domaintest.Refused(t, "of no program", err, fault.NotFound, "sessionId")
		}
		if v := w.list(stranger, ListInput{}).Sessions; len(v) != 2 || v[0].Progress+v[1].Progress != 0 {
			t.Errorf("the other user's are %+v", v)
		}
	})
}

func TestWithoutAnIdTheNewestLiveSessionIsUpdated(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		for _, s := range []struct {
			id string
			by identity.Caller
		}{{"old", alpha}, {"live", alpha}, {"complete", alpha}, {"another", beta}, {"nobodys", loose}} {
			w.Pass(time.Second)
			w.create(s.by, CreateInput{SessionID: s.id})
		}
		w.update(alpha, UpdateInput{SessionID: "complete", State: Complete})
		if v, err := w.call(alpha, "update_session", `{"progress":7}`); err != nil || v.SessionID != "live" ||
			v.Progress != 7 {
			t.Errorf("updated %+v, %v", v, err)
		}
		w.update(alpha, UpdateInput{State: Blocked})
		if v := w.update(alpha, UpdateInput{LastHeartbeat: true}); v.SessionID != "live" || v.State != Blocked {
			t.Errorf("beat %+v", v)
		}
	})
}

// spy is a driver that records writes, and calls then after a query over all users.
type spy struct {
	store.Driver
	then func()
	// fails is called before every call and after every transaction; its fault is returned.
	fails func() error

	mu    sync.Mutex
	wrote []string
}

func spied(t *testing.T) (*world, *spy) {
	t.Helper()
	db, d := domaintest.SQLiteOver(t, schema(), func(inner store.Driver) *spy { return &spy{Driver: inner} })
	return newWorld(t, db), d
}

func (d *spy) fail() error {
	if d.fails == nil {
		return nil
	}
	return d.fails()
}

func (d *spy) Query(ctx context.Context, p store.Plan) ([]store.Raw, error) {
	if err := d.fail(); err != nil {
		return nil, err
	}
	raws, err := d.Driver.Query(ctx, p)
	if p.User == "" && d.then != nil {
		d.then()
	}
	return raws, err
}

func (d *spy) Update(ctx context.Context, fn func(context.Context, store.Reads) ([]store.Write, error)) error {
	if err := d.fail(); err != nil {
		return err
	}
	var writes []store.Write
	err := d.Driver.Update(ctx, func(ctx context.Context, r store.Reads) (_ []store.Write, err error) {
		writes, err = fn(ctx, r)
		return writes, err
	})
	if err != nil {
		return err
	}
	d.mu.Lock()
	for _, w := range writes {
		d.wrote = append(d.wrote, w.Ref.Coll+"/"+w.Ref.ID)
	}
	d.mu.Unlock()
	return d.fail()
}

// writes returns the documents written since the last call.
func (d *spy) writes() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	slices.Sort(d.wrote)
	text := strings.Join(d.wrote, " ")
	d.wrote = nil
	return text
}

func TestAHeartbeatWritesOnlyItsDocument(t *testing.T) {
	t.Parallel()
	w, d := spied(t)
	w.create(alpha, CreateInput{SessionID: "s", State: Blocked, Progress: new(40), Status: new("busy")})
	if got := d.writes(); got != "heartbeats/s sessions/s" {
		t.Errorf("a creation wrote %s", got)
	}
	// The order matters: the last call changes fields that the others must leave unchanged.
	for _, c := range []struct {
		name string
		in   UpdateInput
		want string
	}{
		{"a beat", UpdateInput{SessionID: "s", LastHeartbeat: true}, "heartbeats/s"},
		{"a beat without id", UpdateInput{LastHeartbeat: true}, "heartbeats/s"},
		{"nothing named", UpdateInput{SessionID: "s"}, "heartbeats/s"},
		{"nothing that is new", UpdateInput{SessionID: "s", State: Blocked, Progress: new(40), Status: new("busy"),
			LastHeartbeat: true}, "heartbeats/s"},
		{"progress", UpdateInput{SessionID: "s", Progress: new(41)}, "heartbeats/s sessions/s"},
	} {
		w.Pass(time.Minute)
		if v := w.update(alpha, c.in); !v.LastHeartbeat.Equal(w.Now()) {
			t.Errorf("%s: %+v", c.name, v)
		}
		if got := d.writes(); got != c.want {
			t.Errorf("%s wrote %s, want %s", c.name, got, c.want)
		}
	}
}
