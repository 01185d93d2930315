package team

import (
	"context"

	"parley.internal/shared/identity"
	"parley.internal/shared/op"
)

// These methods apply the defaults of the schema first, as the operations do.

func (w *world) Create(ctx context.Context, c identity.Caller, in CreateInput) (CreateOutput, error) {
	return w.Service.Create(ctx, c, op.FillAs(c, "team_create", in))
}

func (w *world) Spawn(ctx context.Context, c identity.Caller, in SpawnInput) (SpawnOutput, error) {
	return w.Service.Spawn(ctx, c, op.FillAs(c, "team_spawn_teammate", in))
}

func (w *world) Heartbeat(ctx context.Context, c identity.Caller, in HeartbeatInput) (HeartbeatOutput, error) {
	return w.Service.Heartbeat(ctx, c, op.FillAs(c, "team_heartbeat", in))
}

func (w *world) Send(ctx context.Context, c identity.Caller, in SendInput) (SendOutput, error) {
	return w.Service.Send(ctx, c, op.FillAs(c, "team_send_message", in))
}

func (w *world) ReadInbox(ctx context.Context, c identity.Caller, in ReadInput) (InboxOutput, error) {
	return w.Service.ReadInbox(ctx, c, op.FillAs(c, "team_read_inbox", in))
}

func (w *world) PollInbox(ctx context.Context, c identity.Caller, in PollInput) (InboxOutput, error) {
	return w.Service.PollInbox(ctx, c, op.FillAs(c, "team_poll_inbox", in))
}

func (w *world) CreateTask(ctx context.Context, c identity.Caller, in CreateTaskInput) (Task, error) {
	return w.Service.CreateTask(ctx, c, op.FillAs(c, "team_task_create", in))
}

func (w *world) ListTasks(ctx context.Context, c identity.Caller, in ListTasksInput) (ListTasksOutput, error) {
	return w.Service.ListTasks(ctx, c, op.FillAs(c, "team_task_list", in))
}

func (w *world) ListProcesses(ctx context.Context, c identity.Caller, in ProcessesInput) (ProcessesOutput, error) {
	return w.Service.ListProcesses(ctx, c, op.FillAs(c, "team_list_processes", in))
}
