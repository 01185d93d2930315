package signal

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"parley.internal/shared/fault"
	"parley.internal/shared/push"
	"parley.internal/shared/sleep"
	"parley.internal/shared/store"
)

// The limits of a follower of reply topics.
const (
	maxTopics    = 100
	relistEvery  = time.Minute
	firstConnect = time.Second
	lastConnect  = time.Minute
	answerFor    = 15 * time.Second
)

// FollowReplies takes the answers that devices publish on their reply topics, until ctx ends. It is for the only server
// of a store. It follows the topics of at most 100 devices, and hears of a new device at once, of one that another
// process changed within a minute.
func (s *Service) FollowReplies(ctx context.Context, admin *store.Admin, log *slog.Logger) {
	var all sync.WaitGroup
	defer all.Wait()
	following := map[string]follower{}
	tick := time.NewTicker(relistEvery)
	defer tick.Stop()
	for ctx.Err() == nil {
		list, _, err := addresses.QueryAll(ctx, admin, store.Query{Order: []string{"listensSince"}, Limit: maxTopics})
		if err != nil {
			if ctx.Err() == nil {
				log.WarnContext(ctx, "the reply topics cannot be listed", "cause", err.Error())
			}
		} else {
			s.follow(ctx, list, following, &all, log)
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		case <-s.replies():
		}
	}
}

type follower struct {
	at   push.Address
	stop context.CancelFunc
}

// follow starts a follower for each device that has none, and stops those of devices that are gone or have changed.
func (s *Service) follow(ctx context.Context, list []store.Located[address], following map[string]follower,
	all *sync.WaitGroup, log *slog.Logger) {
	wanted := map[string]bool{}
	for _, d := range list {
		name := d.Ref.User + "/" + d.Ref.ID
		wanted[name] = true
		if f, ok := following[name]; ok && f.at == d.Value.Address {
			continue
		} else if ok {
			f.stop()
		}
		mine, stop := context.WithCancel(ctx)
		following[name] = follower{d.Value.Address, stop}
		all.Go(func() { s.listen(mine, d, log) })
	}
	for name, f := range following {
		if !wanted[name] {
			f.stop()
			delete(following, name)
		}
	}
}

// listen takes the answers of one device until ctx ends. It connects again with growing pauses.
func (s *Service) listen(ctx context.Context, d store.Located[address], log *slog.Logger) {
	pause, seen := firstConnect, d.Value.Seen
	for ctx.Err() == nil {
		err := s.Direct.Listen(ctx, push.Target{Address: d.Value.Address}, seen, func(id, text string) error {
			pause = firstConnect
			if err := s.reply(ctx, d.Ref, id, text, log); err != nil {
				return err
			}
			seen = id
			return nil
		})
		if ctx.Err() != nil {
			return
		}
		log.WarnContext(ctx, "a reply topic is followed again", "user", d.Ref.User, "device", d.Ref.ID, "cause", err.Error())
		_ = sleep.For(ctx, pause) // the loop checks ctx
		pause = min(2*pause, lastConnect)
	}
}

// reply takes the answer in a message of a device's reply topic. Anybody may publish there, so a message that is no
// valid answer is dropped. It returns an error only if the message must be read again.
func (s *Service) reply(ctx context.Context, device store.Ref, id, text string, log *slog.Logger) error {
	var in push.Answer
	if json.Unmarshal([]byte(text), &in) != nil {
		return nil
	}
	if user, ok := userOf(in.Token); !ok || user != device.User {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerFor) // an answer that was read is recorded
	defer cancel()
	err := s.answerFrom(ctx, device.ID, in)
	switch {
	case errors.Is(err, errToken):
		return nil
	case err != nil && fault.Of(err).Redeliver():
		return err
	case err != nil:
		log.WarnContext(ctx, "an answer was not taken", "user", device.User, "device", device.ID, "cause", err.Error())
	}
	err = s.DB.User(device.User).Update(ctx, func(_ context.Context, tx *store.Tx) error {
		addresses.Patch(tx, device.ID, store.Set("seen", id))
		return nil
	})
	if fault.Is(err, fault.NotFound) {
		return nil // the device was removed meanwhile
	}
	return err
}

// replies returns the channel that receives a value after a device with a reply topic was registered or removed.
func (s *Service) replies() chan struct{} {
	s.once.Do(func() { s.changed = make(chan struct{}, 1) })
	return s.changed
}

func (s *Service) repliesChanged() {
	select {
	case s.replies() <- struct{}{}:
	default:
	}
}
