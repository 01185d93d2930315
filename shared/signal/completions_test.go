package signal

import (
	"testing"

	"parley.internal/shared/domaintest"
	"parley.internal/shared/push"
	"parley.internal/shared/store"
	"parley.internal/shared/task"
)

func TestWhatIsDoneSendsAPushOnlyWhereTheSettingsSaySo(t *testing.T) {
	each(t, func(t *testing.T, d *fixture) {
		d.device("phone", "android")
		done := func(id string) {
			t.Helper()
			before := task.Task{Type: task.Work, Title: "build", Status: task.Active}
			after := before
			after.Status, after.Result = task.Done, "all green"
			d.react(store.Event{ID: id, Kind: store.Updated, Ref: store.Ref{User: "u", Coll: task.Tasks.Name, ID: "t"},
				Before: domaintest.Must(task.Tasks.Encode(before))(t), After: domaintest.Must(task.Tasks.Encode(after))(t)})
			domaintest.Check(t, d.NotifyDone(t.Context(), "u", id+"-session", push.Notice{Title: "work is complete"}))
		}
		done("one")
		d.set(SettingsInput{On: []About{}})
		done("two")
		if got := d.sender.sent(); len(got) != 0 {
			t.Errorf("by default %+v are sent", got)
		}
		d.set(SettingsInput{On: []About{Completions}})
		done("three")
		got := d.sender.sent()
		if len(got) != 2 || got[0].Title != "build is done" || got[0].Body != "all green" || got[1].Title != "work is complete" {
			t.Errorf("%+v", got)
		}
		view := domaintest.Must(d.Settings(t.Context(), person, SettingsQuery{}))(t)
		if len(view.On) != 1 || view.On[0] != Completions {
			t.Errorf("%+v", view)
		}
		d.set(SettingsInput{})
		done("four")
		if got := d.sender.sent(); len(got) != 0 {
			t.Errorf("%+v", got)
		}
	})
}
