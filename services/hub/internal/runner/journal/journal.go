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

	"parley.internal/services/hub/internal/filelock"
	"parley.internal/services/hub/internal/keepout"
)

// Record is the state of a process that the runner claimed.
type Record struct {
	ProcessID string `json:"processId"`
	Name      string `json:"name"`
	// PID and StartedAt identify the process once it exists.
	PID       int    `json:"pid,omitempty"`
	StartedAt string `json:"startedAt,omitempty"`
	LogFile   string `json:"logFile,omitempty"`
	// LogFrom is the position in the log at which the output of this process begins.
	LogFrom int64 `json:"logFrom,omitempty"`
	// Work is the work of the process, where its caller keeps it here.
	Work json.RawMessage `json:"work,omitempty"`
	// Told is set when the server knows that the process ran.
	Told bool `json:"told,omitempty"`
	// End is the report of the process's end while the server has not acknowledged it.
	End json.RawMessage `json:"end,omitempty"`
}

// Journal is a state directory that this process has locked.
type Journal struct {
	dir, id string
	lock    *os.File
}

// The validName of files in the directory.
const (
	lockName   = "lock"
	idName     = "runner"
	records    = "processes"
	logs       = "logs"
	private    = "private"
	extension  = ".json"
	unfinished = ".new"
)

// Open locks the state directory and creates it if necessary. It fails if another runner has locked it. The caller must
// close the journal.
func Open(dir string) (*Journal, error) {
	for _, d := range []string{dir, filepath.Join(dir, records), filepath.Join(dir, logs)} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, fmt.Errorf("cannot create the state directory: %w", err)
		}
	}
	if err := keepout.Dir(dir); err != nil {
		return nil, fmt.Errorf("cannot keep git from the state directory: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open the state directory's lock: %w", err)
	}
	if err := lockFile(lock); err != nil {
		by, _ := io.ReadAll(io.LimitReader(lock, 20)) // the PID is optional in the message
		_ = lock.Close()
		if len(by) > 0 {
			by = fmt.Appendf(nil, " (PID %s)", by)
		}
		return nil, fmt.Errorf("another runner%s uses the state directory %s: %w; "+
			"stop that runner, or choose another directory with --state", by, dir, err)
	}
	j := &Journal{dir: dir, lock: lock}
	if err := j.claim(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return j, nil
}

// lockFile locks the file. It retries for a second, because a process that a killed runner was just starting may still
// hold the lock.
func lockFile(lock *os.File) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for try := 1; ; try++ {
		err := filelock.Try(lock)
		if err == nil || try == 20 {
			return err
		}
		<-tick.C
	}
}

// claim writes this process's PID to the lock file, and reads or creates the runner's ID.
func (j *Journal) claim() error {
	// Only an error message uses the PID, so a full disk must not keep a successor from starting.
	_ = j.lock.Truncate(0)
	_, _ = fmt.Fprint(j.lock, os.Getpid())
	file := filepath.Join(j.dir, idName)
	text, err := os.ReadFile(file)
	if err == nil && uuid.Validate(strings.TrimSpace(string(text))) == nil {
		j.id = strings.TrimSpace(string(text))
		return nil
	}
	if err == nil {
		return fmt.Errorf("%s must contain a runner's ID; remove it, or choose another directory with --state", file)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot read the runner's ID: %w", err)
	}
	j.id = uuid.NewString()
	if err := Write(file, []byte(j.id+"\n")); err != nil {
		return fmt.Errorf("cannot write the runner's ID: %w", err)
	}
	return nil
}

// ID returns the runner's ID. It is secret and stays the same for the runner's successors.
func (j *Journal) ID() string { return j.id }

// Log returns the path of a member's log.
func (j *Journal) Log(name string) string { return filepath.Join(j.dir, logs, name+".log") }

// File returns the path of a further file in the state directory, which its caller writes with [Write].
func (j *Journal) File(name string) string { return filepath.Join(j.dir, name) }

// validName matches names that are valid file names on every system.
var validName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}$`)

// ValidName reports whether a name may be part of a file name.
func ValidName(name string) bool { return validName.MatchString(name) }

func (j *Journal) file(processID string) string {
	return filepath.Join(j.dir, records, processID+extension)
}

// Put writes a record and replaces the one before. The record is on the disk when Put returns.
func (j *Journal) Put(r Record) error {
	if !ValidName(r.ProcessID) {
		return fmt.Errorf("%.100q is not a valid ID of a process", r.ProcessID)
	}
	text, err := json.Marshal(r)
	if err == nil {
		err = Write(j.file(r.ProcessID), text)
	}
	if err != nil {
		return fmt.Errorf("cannot write the journal: %w", err)
	}
	return nil
}

// Remove removes the record of a process. It does nothing if there is none.
func (j *Journal) Remove(processID string) error {
	if !ValidName(processID) {
		return nil // Put accepts no such ID
	}
	err := os.Remove(j.file(processID))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot write the journal: %w", err)
	}
	return j.Clear(processID)
}

// Private returns the directory for the files of one start, which it empties or makes. Only this user can enter it. Clear
// removes it, as does Remove.
func (j *Journal) Private(processID string) (string, error) {
	if !ValidName(processID) {
		return "", fmt.Errorf("%.100q is not a valid ID of a process", processID)
	}
	err := j.Clear(processID)
	dir := j.PrivateDir(processID)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return "", fmt.Errorf("cannot make the directory of a start: %w", err)
	}
	return dir, nil
}

// PrivateDir returns the path of the directory that Private makes.
func (j *Journal) PrivateDir(processID string) string {
	return filepath.Join(j.dir, private, processID)
}

// Clear removes the directory of a start. It does nothing if there is none.
func (j *Journal) Clear(processID string) error {
	if !ValidName(processID) {
		return nil // Private accepts no such ID
	}
	if err := os.RemoveAll(j.PrivateDir(processID)); err != nil {
		return fmt.Errorf("cannot remove the directory of a start: %w", err)
	}
	return nil
}

// All returns all records. It fails if one of them cannot be read.
func (j *Journal) All() ([]Record, error) {
	entries, err := os.ReadDir(filepath.Join(j.dir, records))
	if err != nil {
		return nil, fmt.Errorf("cannot read the journal: %w", err)
	}
	var out []Record
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), extension)
		if !ok || !ValidName(id) {
			continue // an unfinished file of a killed runner
		}
		text, err := os.ReadFile(j.file(id))
		if err != nil {
			return nil, fmt.Errorf("cannot read the journal: %w", err)
		}
		var r Record
		if err := json.Unmarshal(text, &r); err != nil || r.ProcessID != id {
			return nil, fmt.Errorf("%s must be the record of a process; make sure that no process of a former runner "+
				"is running, and remove it", j.file(id))
		}
		out = append(out, r)
	}
	return out, nil
}

// Close unlocks the directory.
func (j *Journal) Close() error {
	return filelock.Release(j.lock)
}

// Write replaces a file atomically.
func Write(file string, text []byte) (err error) {
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
		_ = os.Remove(next) // the first error is returned
		return err
	}
	dir, err := os.Open(filepath.Dir(file))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
