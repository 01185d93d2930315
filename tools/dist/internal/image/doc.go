// Package image makes the image of the server without a container daemon: one image for each architecture of Linux, an
// OCI layout with an index of both, and a tarball of each for docker load.
//
// The base is empty, so that the image depends on nothing that a registry serves: a user without a shell, /tmp, and the
// program, which has the roots of certificates and the time zones linked into it. They come from a module that go.sum
// pins and that the bill of materials names; a file of the machine that builds would differ from machine to machine. A
// server whose network has its own authority mounts a file and names it by SSL_CERT_FILE, which wins.
//
// The configuration is that of the Dockerfile of the hub; a test compares both.
package image
