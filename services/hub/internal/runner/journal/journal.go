package journal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Record is what is known of a process that the runner claimed.
type Record struct {
	ProcessID string `json:"processId"`
	Name      string `json:"name"`
	// PID and StartedAt are of the process, once there is one.
	PID       int    `json:"pid,omitempty"`
	StartedAt string `json:"startedAt,omitempty"`
	LogFile   string `json:"logFile,omitempty"`
	// Told says that the server knows that it ran.
	Told bool `json:"told,omitempty"`
	// End is how it ended, which the server has not acknowledged.
	End json.RawMessage `json:"end,omitempty"`
}

// Journal is a directory that this runner alone has.
type Journal struct {
	dir, id string
	lock    *os.File
}

// The names in the directory.
const (
	lockName   = "lock"
	idName     = "runner"
	records    = "processes"
	logs       = "logs"
	extension  = ".json"
	unfinished = ".new"
)

// Open takes the directory, and makes it where there is none. It fails where another runner has it.
func Open(dir string) (*Journal, error) {
	for _, d := range []string{dir, filepath.Join(dir, records), filepath.Join(dir, logs)} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, fmt.Errorf("cannot make the state directory: %w", err)
		}
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open the state directory's lock: %w", err)
	}
	if err := take(lock); err != nil {
		by, _ := io.ReadAll(io.LimitReader(lock, 20)) // where it says nothing, the message does not
		_ = lock.Close()
		if len(by) > 0 {
			by = fmt.Appendf(nil, " (PID %s)", by)
		}
		return nil, fmt.Errorf("another runner%s has the state directory %s: %w; end that one, or give this one "+
			"another with --state", by, dir, err)
	}
	j := &Journal{dir: dir, lock: lock}
	if err := j.claim(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return j, nil
}

// take locks the file. A process that a killed runner was just starting has the lock too, for a moment.
func take(lock *os.File) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for try := 1; ; try++ {
		err := tryLock(lock)
		if err == nil || try == 20 {
			return err
		}
		<-tick.C
	}
}

// claim writes who has the directory, and reads the runner's id or makes one.
func (j *Journal) claim() error {
	// Nothing but a message depends on it: a full disk must not keep a successor away.
	_ = j.lock.Truncate(0)
	_, _ = fmt.Fprint(j.lock, os.Getpid())
	file := filepath.Join(j.dir, idName)
	text, err := os.ReadFile(file)
	if err == nil && uuid.Validate(strings.TrimSpace(string(text))) == nil {
		j.id = strings.TrimSpace(string(text))
		return nil
	}
	if err == nil {
		return fmt.Errorf("%s does not hold a runner's id; remove it, or give another directory with --state", file)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot read the runner's id: %w", err)
	}
	j.id = uuid.NewString()
	if err := write(file, []byte(j.id+"\n")); err != nil {
		return fmt.Errorf("cannot keep the runner's id: %w", err)
	}
	return nil
}

// ID is the runner's own, known to no other.
func (j *Journal) ID() string { return j.id }

// Log is where the output of a teammate goes.
func (j *Journal) Log(name string) string { return filepath.Join(j.dir, logs, name+".log") }

// names are those that a file can have anywhere.
var names = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$`)

// ValidName says whether a name from elsewhere may become part of a file's.
func ValidName(name string) bool { return names.MatchString(name) }

func (j *Journal) file(processID string) string {
	return filepath.Join(j.dir, records, processID+extension)
}

// Put keeps a record, in the place of the one before. It is on the disk when Put returns.
func (j *Journal) Put(r Record) error {
	if !ValidName(r.ProcessID) {
		return fmt.Errorf("%.100q is no process's id", r.ProcessID)
	}
	text, err := json.Marshal(r)
	if err == nil {
		err = write(j.file(r.ProcessID), text)
	}
	if err != nil {
		return fmt.Errorf("cannot write the journal: %w", err)
	}
	return nil
}

// Remove forgets a record, if there is one.
func (j *Journal) Remove(processID string) error {
	if !ValidName(processID) {
		return nil // there cannot be one
	}
	err := os.Remove(j.file(processID))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot write the journal: %w", err)
	}
	return nil
}

// All is every record.
func (j *Journal) All() ([]Record, error) {
	entries, err := os.ReadDir(filepath.Join(j.dir, records))
	if err != nil {
		return nil, fmt.Errorf("cannot read the journal: %w", err)
	}
	var out []Record
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), extension)
		if !ok || !ValidName(id) {
			continue // one that was not finished
		}
		text, err := os.ReadFile(j.file(id))
		if err != nil {
			return nil, fmt.Errorf("cannot read the journal: %w", err)
		}
		var r Record
		if err := json.Unmarshal(text, &r); err != nil || r.ProcessID != id {
			return nil, fmt.Errorf("%s is no record of a process; see that none of a former runner's runs on, and "+
				"remove it", j.file(id))
		}
		out = append(out, r)
	}
	return out, nil
}

// Close gives the directory back.
func (j *Journal) Close() error {
	// Unlocked before, because a process that is just being started has the file too.
	return errors.Join(unlock(j.lock), j.lock.Close())
}

// write replaces a file, or leaves it as it was.
func write(file string, text []byte) (err error) {
	next := file + unfinished
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(next, file)
	}
	if err != nil {
		_ = os.Remove(next) // the first error is told
		return err
	}
	dir, err := os.Open(filepath.Dir(file))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
