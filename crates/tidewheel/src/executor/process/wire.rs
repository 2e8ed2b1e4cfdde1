//! What goes over the socket between us and the spawner: frames, and descriptors beside them.
//!
//! What either side does about a frame is in `client.rs` and `serve.rs`.
//!
//! A frame is its length (four bytes, little-endian), one byte for its kind, and its fields.
//! Numbers are little-endian; texts and lists carry their length in front.

use std::collections::VecDeque;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};

use super::limits::{Limit, Limits};

/// What the hello of a spawner starts with; the protocol is numbered so that the wrong version of
/// a program is refused rather than misunderstood.
pub(super) const HELLO: &[u8] = b"tidewheel spawner 1";

/// No frame is larger: the kernel takes no command line and environment of this size either.
/// Whoever receives a larger one gives the connection up, so nobody may send one.
pub(super) const FRAME_MAX: usize = 16 << 20;

const HEAD: usize = 4;
const DESCRIPTORS_MAX: usize = 4;

/// What we ask of the spawner.
#[derive(Debug)]
pub(super) enum Request<'a> {
    Spawn(SpawnRequest<'a>),
    /// TERM now, KILL when the grace is over.
    Stop {
        key: u64,
        grace_ms: u64,
    },
    Kill {
        key: u64,
    },
    /// The descriptor that comes with it is kept open for as long as the spawner lives.
    Hold,
}

/// One child to start. Which descriptors come with it is said by `has`, in the order of 0, 1, 2.
#[derive(Debug, Default)]
pub(super) struct SpawnRequest<'a> {
    pub key: u64,
    pub cookie: &'a [u8],
    /// The path of the program; `argv[0]` is what it is called.
    pub program: &'a [u8],
    pub argv: Vec<&'a [u8]>,
    pub environment: Vec<(&'a [u8], &'a [u8])>,
    pub cwd: Option<&'a [u8]>,
    pub has: [bool; 3],
    pub limits: Option<Limits>,
}

/// What the spawner tells us.
#[derive(Debug)]
pub(super) enum Report {
    Hello(Vec<u8>),
    Started {
        key: u64,
        pid: u32,
    },
    /// The child was not started, or its limits were refused before its program was.
    Refused {
        key: u64,
        refusal: Refusal,
    },
    /// The whole tree is gone. The status is that of `wait`: a code or a signal.
    Exited {
        key: u64,
        pid: u32,
        code: i32,
        signal: i32,
    },
}

/// Why a child was not started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    Program { errno: i32 },
    Directory { errno: i32 },
    Descriptors,
    Limit { limit: Limit, why: String },
}

impl Request<'_> {
    pub(super) fn encode(&self) -> Vec<u8> {
        match self {
            Self::Spawn(spawn) => spawn.encode(),
            Self::Stop { key, grace_ms } => Encoder::new(2).u64(*key).u64(*grace_ms).finish(),
            Self::Kill { key } => Encoder::new(3).u64(*key).finish(),
            Self::Hold => Encoder::new(4).finish(),
        }
    }
}

impl<'a> Request<'a> {
    pub(super) fn decode(frame: &'a [u8]) -> io::Result<Self> {
        let mut decoder = Decoder { rest: frame };
        Ok(match decoder.u8()? {
            1 => Self::Spawn(SpawnRequest::decode(&mut decoder)?),
            2 => Self::Stop { key: decoder.u64()?, grace_ms: decoder.u64()? },
            3 => Self::Kill { key: decoder.u64()? },
            4 => Self::Hold,
            _ => return Err(malformed()),
        })
    }
}

impl<'a> SpawnRequest<'a> {
    /// How large its frame will be, so that one which is too large is not even made.
    pub(super) fn frame_size(&self) -> usize {
        let text = |text: &[u8]| 4 + text.len();
        let fixed = 1 + 8 + self.has.len() + 4 + 4 + 1 + 1;
        let argv: usize = self.argv.iter().map(|argument| text(argument)).sum();
        let environment: usize =
            self.environment.iter().map(|(name, value)| text(name) + text(value)).sum();
        fixed
            + text(self.cookie)
            + text(self.program)
            + argv
            + environment
            + self.cwd.map_or(0, text)
            + self.limits.as_ref().map_or(0, |limits| text(&limits.encode()))
    }

    fn encode(&self) -> Vec<u8> {
        let mut encoder = Encoder::new(1).u64(self.key).bytes(self.cookie).bytes(self.program);
        for has in self.has {
            encoder = encoder.u8(u8::from(has));
        }
        encoder = encoder.u32(self.argv.len() as u32);
        for argument in &self.argv {
            encoder = encoder.bytes(argument);
        }
        encoder = encoder.u32(self.environment.len() as u32);
        for (name, value) in &self.environment {
            encoder = encoder.bytes(name).bytes(value);
        }
        encoder = match self.cwd {
            Some(cwd) => encoder.u8(1).bytes(cwd),
            None => encoder.u8(0),
        };
        match &self.limits {
            Some(limits) => encoder.u8(1).bytes(&limits.encode()),
            None => encoder.u8(0),
        }
        .finish()
    }

    fn decode(decoder: &mut Decoder<'a>) -> io::Result<Self> {
        let key = decoder.u64()?;
        let cookie = decoder.bytes()?;
        let program = decoder.bytes()?;
        let has = [decoder.u8()? == 1, decoder.u8()? == 1, decoder.u8()? == 1];
        let mut argv = Vec::new();
        for _ in 0..decoder.u32()? {
            argv.push(decoder.bytes()?);
        }
        let mut environment = Vec::new();
        for _ in 0..decoder.u32()? {
            environment.push((decoder.bytes()?, decoder.bytes()?));
        }
        let cwd = if decoder.u8()? == 1 { Some(decoder.bytes()?) } else { None };
        let limits = match decoder.u8()? {
            1 => Some(Limits::decode(decoder.bytes()?).ok_or_else(malformed)?),
            _ => None,
        };
        Ok(Self { key, cookie, program, argv, environment, cwd, has, limits })
    }
}

impl Report {
    pub(super) fn encode(&self) -> Vec<u8> {
        match self {
            Self::Hello(text) => Encoder::new(0).bytes(text),
            Self::Started { key, pid } => Encoder::new(1).u64(*key).u32(*pid),
            Self::Refused { key, refusal } => Encoder::new(2).u64(*key).bytes(&refusal.encode()),
            Self::Exited { key, pid, code, signal } => {
                Encoder::new(3).u64(*key).u32(*pid).u32(*code as u32).u32(*signal as u32)
            }
        }
        .finish()
    }

    pub(super) fn decode(frame: &[u8]) -> io::Result<Self> {
        let mut decoder = Decoder { rest: frame };
        Ok(match decoder.u8()? {
            0 => Self::Hello(decoder.bytes()?.to_vec()),
            1 => Self::Started { key: decoder.u64()?, pid: decoder.u32()? },
            2 => Self::Refused {
                key: decoder.u64()?,
                refusal: Refusal::decode(decoder.bytes()?).ok_or_else(malformed)?,
            },
            3 => Self::Exited {
                key: decoder.u64()?,
                pid: decoder.u32()?,
                code: decoder.u32()? as i32,
                signal: decoder.u32()? as i32,
            },
            _ => return Err(malformed()),
        })
    }
}

impl Refusal {
    /// Also what a child that was to be limited writes before it gives up.
    pub(super) fn encode(&self) -> Vec<u8> {
        let (kind, number, text) = match self {
            Self::Program { errno } => (0, *errno, ""),
            Self::Directory { errno } => (1, *errno, ""),
            Self::Descriptors => (2, 0, ""),
            Self::Limit { limit, why } => (3, limit.number(), why.as_str()),
        };
        let mut bytes = vec![kind];
        bytes.extend_from_slice(&number.to_le_bytes());
        bytes.extend_from_slice(text.as_bytes());
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        let (number, text) = rest.split_first_chunk()?;
        let number = i32::from_le_bytes(*number);
        Some(match kind {
            0 => Self::Program { errno: number },
            1 => Self::Directory { errno: number },
            2 => Self::Descriptors,
            3 => Self::Limit {
                limit: Limit::from_number(number)?,
                why: String::from_utf8_lossy(text).into_owned(),
            },
            _ => return None,
        })
    }
}

/// Bytes as they come from the socket, handed out as frames.
#[derive(Debug, Default)]
pub(super) struct Frames {
    bytes: Vec<u8>,
    start: usize,
}

impl Frames {
    pub(super) fn extend(&mut self, bytes: &[u8]) {
        if self.start == self.bytes.len() {
            self.bytes.clear();
            self.start = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole frame, without its length.
    pub(super) fn next(&mut self) -> io::Result<Option<&[u8]>> {
        let Some((head, rest)) = self.bytes[self.start..].split_first_chunk::<HEAD>() else {
            return Ok(None);
        };
        let length = u32::from_le_bytes(*head) as usize;
        if length > FRAME_MAX {
            return Err(malformed());
        }
        if rest.len() < length {
            if self.start > 0 {
                self.bytes.drain(..self.start);
                self.start = 0;
            }
            return Ok(None);
        }
        let from = self.start + HEAD;
        self.start = from + length;
        Ok(Some(&self.bytes[from..from + length]))
    }
}

/// Sends without waiting; gives how many bytes went. The descriptors go with the first byte.
pub(super) fn send(
    socket: impl AsFd,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<usize> {
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    if descriptors.is_empty() {
        return Ok(rustix::net::send(socket, bytes, flags)?);
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(control.push(SendAncillaryMessage::ScmRights(descriptors)), "room for descriptors");
    Ok(sendmsg(socket, &[IoSlice::new(bytes)], &mut control, flags)?)
}

/// Descriptors in the order they came. One message brings all those of one frame; when the limit
/// of open files cuts one short, only that frame goes without.
pub(super) type Descriptors = VecDeque<Vec<OwnedFd>>;

/// Receives without waiting; gives how many bytes came, zero at the end of the stream.
pub(super) fn receive(
    socket: impl AsFd,
    buffer: &mut [u8],
    descriptors: &mut Descriptors,
) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let received = recvmsg(socket, &mut [IoSliceMut::new(buffer)], &mut control, flags)?;
    let mut came = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            came.extend(rights);
        }
    }
    if !came.is_empty() || received.flags.contains(ReturnFlags::CTRUNC) {
        descriptors.push_back(came);
    }
    Ok(received.bytes)
}

fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "malformed frame on the spawner's socket")
}

struct Encoder {
    bytes: Vec<u8>,
}

impl Encoder {
    fn new(kind: u8) -> Self {
        let mut bytes = Vec::with_capacity(512);
        bytes.extend_from_slice(&[0; HEAD]);
        bytes.push(kind);
        Self { bytes }
    }

    fn u8(mut self, value: u8) -> Self {
        self.bytes.push(value);
        self
    }

    fn u32(mut self, value: u32) -> Self {
        self.bytes.extend_from_slice(&value.to_le_bytes());
        self
    }

    fn u64(mut self, value: u64) -> Self {
        self.bytes.extend_from_slice(&value.to_le_bytes());
        self
    }

    fn bytes(mut self, value: &[u8]) -> Self {
        self = self.u32(value.len() as u32);
        self.bytes.extend_from_slice(value);
        self
    }

    fn finish(mut self) -> Vec<u8> {
        let length = (self.bytes.len() - HEAD) as u32;
        self.bytes[..HEAD].copy_from_slice(&length.to_le_bytes());
        self.bytes
    }
}

struct Decoder<'a> {
    rest: &'a [u8],
}

impl<'a> Decoder<'a> {
    fn take<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let (value, rest) = self.rest.split_first_chunk().ok_or_else(malformed)?;
        self.rest = rest;
        Ok(*value)
    }

    fn u8(&mut self) -> io::Result<u8> {
        Ok(self.take::<1>()?[0])
    }

    fn u32(&mut self) -> io::Result<u32> {
        Ok(u32::from_le_bytes(self.take()?))
    }

    fn u64(&mut self) -> io::Result<u64> {
        Ok(u64::from_le_bytes(self.take()?))
    }

    fn bytes(&mut self) -> io::Result<&'a [u8]> {
        let length = self.u32()? as usize;
        let (value, rest) = self.rest.split_at_checked(length).ok_or_else(malformed)?;
        self.rest = rest;
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_survive_any_cut() {
        let limits = Limits { open_files: Some(9), niceness: Some(-3), ..Limits::default() };
        let spawn = SpawnRequest {
            key: 7,
            cookie: b"mark/run/0/1",
            program: b"/bin/echo",
            argv: vec![b"/bin/echo", b"", b"two words\xff"],
            environment: vec![(b"A", b"1=2"), (b"B", b"")],
            cwd: Some(b"/tmp"),
            has: [false, true, true],
            limits: Some(limits),
        };
        let size = spawn.frame_size();
        let mut bytes = Request::Spawn(spawn).encode();
        assert_eq!(size, bytes.len() - HEAD);
        bytes.extend(Request::Stop { key: 8, grace_ms: 1500 }.encode());
        for cut in 0..bytes.len() {
            let mut frames = Frames::default();
            let mut found = Vec::new();
            for part in [&bytes[..cut], &bytes[cut..]] {
                frames.extend(part);
                while let Some(frame) = frames.next().unwrap() {
                    found.push(frame.to_vec());
                }
            }
            assert_eq!(found.len(), 2);
            let Request::Spawn(spawn) = Request::decode(&found[0]).unwrap() else { panic!() };
            assert_eq!(spawn.argv, [&b"/bin/echo"[..], b"", b"two words\xff"]);
            assert_eq!(spawn.environment, [(&b"A"[..], &b"1=2"[..]), (b"B", b"")]);
            assert_eq!((spawn.cwd, spawn.has), (Some(&b"/tmp"[..]), [false, true, true]));
            assert_eq!(spawn.limits, Some(limits));
            let stop = Request::decode(&found[1]).unwrap();
            assert!(matches!(stop, Request::Stop { key: 8, grace_ms: 1500 }));
        }
    }

    #[test]
    fn cut_and_foreign_frames_are_errors() {
        let whole =
            Request::Spawn(SpawnRequest { argv: vec![b"x"], ..Default::default() }).encode();
        for length in HEAD..whole.len() {
            assert!(Request::decode(&whole[HEAD..length]).is_err(), "{length}");
        }
        assert!(Report::decode(b"GET / HTTP/1.1").is_err());
        let mut frames = Frames::default();
        frames.extend(&[0xff; 8]);
        assert!(frames.next().is_err());
    }
}
