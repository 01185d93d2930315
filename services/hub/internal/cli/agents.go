package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"parley.internal/shared/identity"
	"parley.internal/shared/keys"
	"parley.internal/shared/pulse"
)

// agents are the sessions of agents, and the programs that have none.
type agents struct {
	Sessions []pulse.View `json:"sessions"`
	// Without holds the programs with a key and no session, with the last use of a key.
	Without []withoutSession `json:"withoutSession"`
}

type withoutSession struct {
	Program    string    `json:"programId"`
	LastUsedAt time.Time `json:"lastUsedAt,omitzero"`
}

func (w *world) agentsCommand() *cobra.Command {
	var program string
	var all bool
	cmd := &cobra.Command{Use: "agents", Short: "List the agents: their sessions, and the activity of each", Args: cobra.NoArgs,
		Long: "List the sessions of agents: the program, the address for messages, the state (or silent), the progress, when it\n" +
			"was last heard of, the name and the activity. Programs that have a key and no session are listed too.",
		Example: "  parley agents\n  parley agents --program claude --all\n  parley agents --json"}
	connect, asJSON := w.humanFlags(cmd), jsonFlag(cmd)
	cmd.Flags().StringVar(&program, "program", "", "only sessions of this program")
	cmd.Flags().BoolVar(&all, "all", false, "also sessions that have ended")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		h, err := connect()
		if err != nil {
			return err
		}
		out, err := h.agents(cmd.Context(), program, all)
		switch {
		case err != nil:
			return err
		case *asJSON:
			return w.document(out)
		}
		return w.printAgents(out, h.now())
	}
	return cmd
}

// agents returns the sessions that have not ended, or all, and the programs with a key that have none.
func (h *human) agents(ctx context.Context, program string, all bool) (agents, error) {
	out := agents{Sessions: []pulse.View{}, Without: []withoutSession{}}
	has := map[string]bool{}
	in := pulse.ListInput{ProgramID: program, Limit: 50, IncludeArchived: all}
	for {
		page, err := h.ListSessions(ctx, in)
		if err != nil {
			return out, h.explain(ctx, err)
		}
		for _, s := range page.Sessions {
			has[identity.Fold(s.ProgramID)] = true
			if all || s.EndedAt.IsZero() {
				out.Sessions = append(out.Sessions, s)
			}
		}
		if in.Cursor = page.NextCursor; in.Cursor == "" {
			break
		}
	}
	slices.SortStableFunc(out.Sessions, func(a, b pulse.View) int {
		if a.Live != b.Live {
			return map[bool]int{true: -1, false: 1}[a.Live]
		}
		return cmp.Or(cmp.Compare(a.ProgramID, b.ProgramID), a.CreatedAt.Compare(b.CreatedAt))
	})
	used := map[string]time.Time{}
	err := h.validKeys(ctx, func(k keys.View) {
		p := k.Program
		if p == "" || has[identity.Fold(p)] || program != "" && !identity.Same(p, program) {
			return
		}
		if last, known := used[p]; !known || k.LastUsedAt.After(last) {
			used[p] = k.LastUsedAt
		}
	})
	for p, last := range used {
		out.Without = append(out.Without, withoutSession{p, last})
	}
	slices.SortFunc(out.Without, func(a, b withoutSession) int { return cmp.Compare(a.Program, b.Program) })
	return out, err
}

func (w *world) printAgents(all agents, now time.Time) error {
	s := newSheet("PROGRAM", "ADDRESS", "STATE", "DONE", "HEARD", "DOES")
	for _, v := range all.Sessions {
		state, t := string(v.State), good
		switch {
		case !v.EndedAt.IsZero():
			state, t = "ended", faint
		case !v.Live:
			state, t = "silent", alarm
		case v.State == "blocked":
			t = alarm
		}
		heard := v.LastHeartbeat
		if heard.IsZero() {
			heard = v.UpdatedAt
		}
		does := v.Name
		if v.Status != "" {
			does += ": " + v.Status
		}
		s.add(t, dash(v.ProgramID), dash(v.Address), state, fmt.Sprintf("%d%%", v.Progress), age(heard, now), does)
	}
	for _, v := range all.Without {
		does := "has a key that was never used"
		if !v.LastUsedAt.IsZero() {
			does = "has called, and made no session"
		}
		s.add(faint, v.Program, "-", "no session", "-", age(v.LastUsedAt, now), does)
	}
	return w.print(s, "No agent has come yet. Give one the address of this server and a key of its own: "+
		"parley key create --program NAME.")
}
