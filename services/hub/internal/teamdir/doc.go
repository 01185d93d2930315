// Package teamdir reads and writes a team as a directory of JSON files: config.json,
// inboxes/<member>.json and tasks/<id>.json.
//
// It knows files and nothing of what makes a team sound, which is the domain's to say.
// Whatever it reads it reads whole before anything is done with it; what it writes goes
// into a directory that was not there, so that nothing of anybody's is overwritten.
package teamdir
