package operator

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"parley.internal/shared/fault"
	"parley.internal/shared/store/sqlite"
)

// passing is the pattern of the directories for files on their way through the socket.
const passing = ".parley-passing-*"

// CleanUp removes from a directory the files that a server left there when it was killed during a transfer.
func CleanUp(dir string) error {
	left, err := filepath.Glob(filepath.Join(dir, passing))
	for _, name := range left {
		err = errors.Join(err, os.RemoveAll(name))
	}
	return err
}

// backup sends a backup, and the number of its documents.
func backup(o Operator, dir string, w http.ResponseWriter, r *http.Request) {
	n, f, remove, err := passed(r.Context(), o, dir)
	if err != nil {
		refuse(w, err)
		return
	}
	defer remove()
	w.Header().Set("Trailer", countTrailer+", "+errorTrailer)
	if _, err := io.Copy(w, f); err != nil {
		w.Header().Set(errorTrailer, strconv.Quote(fault.Of(err).Code()+" "+err.Error()))
	}
	w.Header().Set(countTrailer, strconv.Itoa(n))
}

// passed makes a backup that only this process knows.
func passed(ctx context.Context, o Operator, dir string) (n int, f *os.File, remove func(), err error) {
	tmp, err := os.MkdirTemp(dir, passing)
	if err != nil {
		return 0, nil, nil, err
	}
	file := filepath.Join(tmp, "backup.db")
	if n, err = o.Backup(ctx, file); err == nil {
		f, err = os.Open(file)
	}
	if err != nil {
		return 0, nil, nil, errors.Join(err, os.RemoveAll(tmp))
	}
	return n, f, func() { _ = f.Close(); _ = os.RemoveAll(tmp) }, nil
}

// restore restores the backup in the body of a request, which has the name of the file at the other end.
func restore(o Operator, dir string, w http.ResponseWriter, r *http.Request) {
	out, err := received(o, dir, r)
	if err != nil {
		refuse(w, err)
		return
	}
	answer(w, http.StatusOK, out)
}

func received(o Operator, dir string, r *http.Request) (out Restored, err error) {
	name, err := strconv.Unquote(r.Header.Get(nameHeader))
	if err != nil {
		return out, fault.New(fault.Invalid, "the name of the backup cannot be read")
	}
	tmp, err := os.MkdirTemp(dir, passing)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	file := filepath.Join(tmp, "backup.db")
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return out, err
	}
	n, err := io.Copy(f, io.LimitReader(r.Body, sqlite.MaxBackup+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return out, err
	}
	if n > sqlite.MaxBackup {
		return out, fault.New(fault.Invalid, "%s is too large: a backup has at most %d GiB", name, sqlite.MaxBackup>>30)
	}
	if out, err = o.Restore(r.Context(), file); err != nil {
		err = fault.New(fault.Of(err), "%s", strings.ReplaceAll(err.Error(), file, name))
	}
	return out, err
}

// nameHeader has the quoted name of the file that is restored.
const nameHeader = "Parley-File"

// Backup implements [Operator]. The file appears whole or not at all.
func (r *Remote) Backup(ctx context.Context, file string) (n int, err error) {
	if _, err := os.Lstat(file); err == nil {
		return 0, fault.New(fault.Exists, "%s already exists; name another file", file)
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".parley-backup-*")
	if err != nil {
		return 0, fault.Wrap(fault.Unavailable, err, "cannot write %s", file)
	}
	defer func() { err = errors.Join(err, os.Remove(tmp.Name())) }()
	res, err := r.post(ctx, "backup", nothing{})
	if err == nil {
		n, err = streamed(res, tmp)
	}
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return 0, err
	}
	if err := os.Link(tmp.Name(), file); err != nil { // a rename would overwrite a file created in the meantime
		return 0, fault.Wrap(fault.Unavailable, err, "cannot write %s", file)
	}
	return n, syncDir(filepath.Dir(file))
}

// syncDir makes the names of the files in a directory durable, where the system can.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	_ = d.Sync() // Windows cannot, and needs not
	return d.Close()
}

// Restore implements [Operator].
func (r *Remote) Restore(ctx context.Context, file string) (out Restored, err error) {
	if err := sqlite.CheckWhole(file); err != nil {
		return out, err
	}
	f, err := os.Open(file)
	if err != nil {
		return out, fault.Wrap(fault.Unavailable, err, "cannot read the backup")
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	res, err := r.send(ctx, "restore", io.NopCloser(f), http.Header{nameHeader: {strconv.Quote(file)}})
	if err != nil {
		return out, err
	}
	err = json.NewDecoder(res.Body).Decode(&out)
	return out, errors.Join(err, res.Body.Close())
}

// streamed writes the body of an answer, and returns the number in its trailer.
func streamed(res *http.Response, to io.Writer) (n int, err error) {
	_, err = io.Copy(to, res.Body)
	if err = errors.Join(err, res.Body.Close()); err != nil {
		return 0, err
	}
	if err := trailerError(res.Trailer.Get(errorTrailer)); err != nil {
		return 0, err
	}
	if n, err = strconv.Atoi(res.Trailer.Get(countTrailer)); err != nil {
		return 0, errors.New("the answer of the server was cut off")
	}
	return n, nil
}
