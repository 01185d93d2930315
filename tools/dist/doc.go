// Command dist makes the artifacts of a release from the sources of the repository: programs for six platforms in
// archives, packages for Debian, Fedora, Homebrew and npm, images without a container daemon, bills of materials, and
// checksums. "make dist" runs it.
//
// The module is apart from the others and in no workspace, so that no library for packages gets into a program that
// ships. It needs no network once the modules are downloaded.
package main
