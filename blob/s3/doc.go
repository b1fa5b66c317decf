// Package s3 keeps objects in a bucket of S3, or of a store that speaks as it does.
//
// # What maps to what
//
//	a name           the key PREFIX/NAME; keys that are no names ("folder/", "a//b") are not seen
//	Create, Commit   PutObject up to one part; above that a multipart upload, whose parts go while the next are written
//	CreateOver       the same with If-None-Match: * or If-Match: ETAG
//	Open, ReadAt     GetObject of ranges, all with If-Match of the first one's ETag
//	List             ListObjectsV2
//	State            HeadObject, and ListObjectsV2 with the ETags of a tree
//	Publish          an object: a copy in the store under that condition; a tree: a note and copies, below
//	Remove           DeleteObject; a tree: a note, ListObjectsV2, DeleteObjects
//	Hold, Claim      an object "_tmp.hold.ID" in the tree, or "_tmp.NAME.claim" beside it, put anew six times in Options.Lease
//	Leftovers        ListObjectsV2 of "_tmp.NAME.", and ListMultipartUploads
//
// All ages are differences of two times of the store itself (Date and Last-Modified), so that no machine has to have the right time.
//
// # A read
//
// Open asks for the notes of the trees that the name lies in, all at once, and then for the first MiB of the object, which tells size and
// ETag: a small object needs nothing else. Asking for both at once would save the time of one answer, and would find old bytes when
// the object is read before and the note is looked for after a publish ends; a model would then be a mixture. Later ReadAts
// fetch ranges of exactly that ETag: an object that was replaced fails with blob.ErrChanged. For readers in order blocks of 8 MiB are
// read ahead, Options.Concurrency of them at once, as long as Options.Memory of the bucket suffices; large ReadAts are split into as
// many ranges.
// An answer that breaks off is continued where it broke.
//
// # A write
//
// What is written lies in a blob.Spool. Parts that Write has gone past are uploaded at once; those that WriteAt changes after that are
// uploaded again by Commit. Every body has its CRC-32C. A request whose answer was lost is sent again, and then its own condition is
// no longer met: each object has a random mark as metadata by which its writer knows it. If the name is that of a tree, the object is
// written under a temporary name and published.
// Parts of a process that was killed stay with the store until Sweep finds them older than Options.Age.
//
// # A publish of a tree
//
// S3 moves one object at a time, and no tree. So there is a note beside the tree, "_tmp.NAME.publish", as long as one is published:
//
//  1. The note is put if there is none (If-None-Match), and one beside the source: nobody else may publish or remove either.
//  2. What lies at the name is compared with over; other notes in the tree or around it go first.
//  3. The note is put again over itself (If-Match), with the names, sizes and ETags of the new objects and of the old ones. That is the
//     moment: from now on Open and List of this package find the new tree, and read it where it was.
//  4. Old objects without a successor are removed, the new ones are copied to their places, in parallel, each if what it replaces is
//     still the old one; then the sources and both notes are removed. Whoever looks with other tools finds plain keys again.
//
// A process that dies before 3 has changed nothing; its notes are ignored by readers, and by writers of the same machine at once,
// elsewhere when they are older than Options.Stale. One that dies after 3 has published; readers go on through the note, and the next
// writer there finishes 4. Each step may be done twice, and by two at once. A removal of a tree is a publish of nothing.
//
// # What it costs
//
// In requests, for a key with d elements that are not temporary, and a tree of n objects:
//
//	Open of at most 1 MiB    d+1, in the time of two
//	Create and Commit        d-1 HEAD, 1 list, d GET for notes, 1 PUT; above one part 2 more and one for each part
//	List                     d GET, 1 HEAD, n/1000 lists
//	Pin of an object         d GET, 1 HEAD, and 2 lists if others are replaced with it
//	Pin of a tree            d GET, 1 HEAD, 2 n/1000 lists; each object of it is opened by 1 GET
//	Publish of an object     about 3d+6
//	Publish of a tree        about 4d+20, and 2 for each object of it, 1 for each old one without a successor
//
// # Where a directory can more
//
//   - An object is kept open by nobody: when it is replaced or removed, what was not read yet cannot be (blob.ErrChanged).
//   - State does not tell an object from one that replaced it within the same second with the same bytes.
//   - A listing of more than 1,000 objects is not of one moment, unless a publish replaces the whole.
//   - That a name is an object or a tree, never both, is checked before a write and not at the moment of it. Other tools can make both: the
//     object is what List shows then.
//   - A tree that is published can be seen under both names until its publish ends, if its source had a name that is not temporary.
//   - A publish and a Commit under the tree at the same time: the object is part of the new tree, or is not seen any more.
//   - Conditions hold as far as the store knows them. AWS knows all that are used here. Where copies and deletions ignore If-Match, a
//     process that was stopped for longer than Options.Stale in the middle of step 4, and goes on then, may damage what others published
//     meanwhile. Where puts ignore it (some old stores), two publishers at once are not told apart at all.
//   - Sweep cannot know whether an upload is still going on elsewhere: it goes by its age.
package s3
