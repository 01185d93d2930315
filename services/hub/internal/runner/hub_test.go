//go:build unix

package runner_test

import (
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/labstack/echo/v4"

	"parley.internal/services/hub/internal/auth"
	"parley.internal/services/hub/internal/rest"
	"parley.internal/shared/app"
	"parley.internal/shared/client"
	"parley.internal/shared/keys"
	"parley.internal/shared/store/storetest"
	"parley.internal/shared/team"
)

// deployment is a team on a hub that runs in this process.
type deployment struct {
	t   *testing.T
	hub *client.Client
}

func newDeployment(t *testing.T, st *stage) (*deployment, plan) {
	t.Helper()
	url, key := startHub(t)
	hub, err := client.New(url, key, client.WithRetry(client.NoRetry))
	if err == nil {
		_, err = hub.TeamCreate(t.Context(), team.CreateInput{TeamName: theTeam})
	}
	if err != nil {
		t.Fatal(err)
	}
	return &deployment{t, hub}, planFor(t, url, key, st)
}

// startHub serves the REST API over an empty store until the test ends. The key is that of the agent lead.
func startHub(t *testing.T) (url, key string) {
	t.Helper()
	db := storetest.SQLite(t, app.Schema())
	newID := func() string { return uuid.Must(uuid.NewV7()).String() }
	a := app.New(db, app.Ports{Now: time.Now, NewID: newID})
	s := &rest.Server{Catalogue: a.Catalogue(), Auth: auth.New(a.Keys, time.Now, auth.Limits{}), Now: time.Now,
		NewID:   newID,
		Version: "test", Loopback: true}
	handler := s.Echo(func(*echo.Echo) {})
	made, err := a.Keys.Issue(t.Context(), "u", keys.CreateInput{Program: "lead"})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		db.Drain()
		server.Close()
	})
	return server.URL, made.Key
}

func (o *deployment) spawn(name string) (processID string) {
	o.t.Helper()
	out, err := o.hub.TeamSpawnTeammate(o.t.Context(),
		team.SpawnInput{TeamName: theTeam, Name: name, Prompt: "begin, " + name})
	if err != nil {
		o.t.Fatal(err)
	}
	return out.ProcessID
}

func (o *deployment) process(id string) team.Process {
	o.t.Helper()
	out, err := o.hub.TeamListProcesses(o.t.Context(), team.ProcessesInput{TeamName: theTeam})
	if err != nil {
		o.t.Fatal(err)
	}
	i := slices.IndexFunc(out.Processes, func(p team.Process) bool { return p.ProcessID == id })
	if i < 0 {
		o.t.Fatalf("%s is not in %+v", id, out)
	}
	return out.Processes[i]
}

// until waits until the process is in a state.
func (o *deployment) until(id string, state team.State) team.Process {
	o.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	over := time.After(patience)
	for {
		p := o.process(id)
		if p.State == state {
			return p
		}
		select {
		case <-tick.C:
		case <-over:
			o.t.Fatalf("want %s, got %+v", state, p)
		}
	}
}

func TestAMemberIsStartedWatchedAndEndedThroughAHub(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	o, p := newDeployment(t, st)
	p.Times.Grace = fair
	p.run(t)
	id := o.spawn("w1")
	m := st.next()
	// The member and its prompt exist before the process starts.
	cfg, err := o.hub.TeamReadConfig(t.Context(), team.NameInput{TeamName: theTeam})
	if err != nil || len(cfg.Members) != 2 || cfg.Members[1].Name != "w1" {
		t.Errorf("got %+v, %v", cfg, err)
	}
	inbox, err := o.hub.TeamReadInbox(t.Context(),
		team.ReadInput{TeamName: theTeam, AgentName: "w1", MarkAsRead: new(false)})
	if err != nil || len(inbox.Messages) != 1 || inbox.Messages[0].Text != "begin, w1" {
		t.Errorf("got %+v, %v", inbox, err)
	}
	if got := o.until(id, "running"); got.PID != int64(m.PID) || got.StartedAt != p.records(t)[id].StartedAt ||
		got.StartedAt == "" || m.Args[1] != "w1@core" {
		t.Errorf("got %+v of %+v", got, m.hello)
	}
	m.do("say it works")
	m.tell("exit 3")
	if got := o.until(id, "exited"); got.ExitCode == nil || *got.ExitCode != 3 {
		t.Errorf("got %+v", got)
	}
	if out := p.output(t, "w1"); !strings.HasSuffix(out, "\nit works\n") {
		t.Errorf("the log has %q", out)
	}

	id = o.spawn("w2")
	m, child := family(t, st, true)
	o.until(id, "running")
	if _, err := o.hub.TeamForceKillTeammate(t.Context(),
		team.MemberInput{TeamName: theTeam, AgentName: "w2"}); err != nil {
		t.Fatal(err)
	}
	m.gone()
	child.gone()
	if got := o.until(id, "killed"); got.Signal != "SIGTERM" {
		t.Errorf("got %+v", got)
	}
}

func TestRunnersOfOneHubShareATeamAndASuccessorContinues(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	o, p := newDeployment(t, st)
	first := p.spawn(t)
	living := o.spawn("living")
	m := st.next()
	o.until(living, "running")
	first.kill()
	successor := p.run(t)
	other := p
	other.State += "-2"
	second := other.run(t)
	const n = 12
	var ids []string
	for i := range n {
		ids = append(ids, o.spawn(fmt.Sprintf("w%d", i)))
	}
	began := map[string]int{}
	for range n {
		m := st.next()
		began[m.Args[1]]++
		m.tell("exit 0")
	}
	for _, id := range ids {
		o.until(id, "exited")
	}
	if len(began) != n {
		t.Errorf("got %v", began)
	}
	m.lives()
	m.tell("exit 0")
	o.until(living, "exited")
	successor.end()
	second.end()
	st.empty()
}

func TestAStoppedRunnerReportsToTheHub(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	o, p := newDeployment(t, st)
	run := p.run(t)
	id := o.spawn("w1")
	m := st.next()
	o.until(id, "running")
	run.end()
	m.gone()
	if got := o.process(id); got.State != "killed" {
		t.Errorf("got %+v", got)
	}
	p.Team = "another"
	if err := p.run(t).wait(); err == nil ||
		!strings.Contains(err.Error(), "Team another does not exist; make it with team_create") {
		t.Error(err)
	}
}
