//! What a file puts into the memory of every process that loads it.

use std::io;

use analyzer_core::{addr::VirtAddr, image::Image};

use super::memory::ReadMemory;

/// The memory of an image as the dynamic linker leaves it, read from its file.
///
/// That is where 3.11 and 3.12 keep the code objects of frozen modules, with
/// their names and line tables (`deepfreeze.c`, written by
/// Tools/scripts/deepfreeze.py, in 3.12 Tools/build/deepfreeze.py), and every
/// version its own types.
pub(crate) struct StaticData<'a> {
    image: Image<'a>,
    bias: u64,
}

impl<'a> StaticData<'a> {
    /// `bias` is the run-time address minus the link-time address.
    pub(crate) fn new(image: Image<'a>, bias: u64) -> Self {
        Self { image, bias }
    }

    fn link_time(&self, address: u64) -> VirtAddr {
        VirtAddr(address.wrapping_sub(self.bias))
    }
}

impl ReadMemory for StaticData<'_> {
    fn read(&self, address: u64, buffer: &mut [u8]) -> io::Result<()> {
        let bytes = self
            .image
            .bytes(self.link_time(address), buffer.len())
            .ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))?;
        buffer.copy_from_slice(bytes);
        Ok(())
    }

    fn word(&self, address: u64) -> io::Result<u64> {
        let at = self.link_time(address);
        let word = match self.image.relocation_at(at) {
            Some(relocation) => {
                self.image.stored_address(relocation).map(|target| target.0.wrapping_add(self.bias))
            }
            None => self.image.u64_at(at),
        };
        word.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{discover::bias::Segments, file_bytes::FileBytes, process};

    /// A word that the dynamic linker fills in, and one that it leaves alone.
    #[repr(C)]
    struct Pair {
        text: &'static [u8; 11],
        number: u64,
    }

    static PAIR: Pair = Pair { text: b"in the file", number: 0x0123_4567_89ab_cdef };

    #[test]
    fn the_file_says_what_memory_holds() {
        let program = std::env::current_exe().expect("our program");
        let bytes = FileBytes::open(&program).expect("opened");
        let image = Image::parse(&bytes).expect("an image");
        let mappings = process::mappings(std::process::id()).expect("our maps");
        let ours: Vec<_> = mappings
            .iter()
            .filter(|mapping| mapping.file.as_ref().is_some_and(|file| file.path == program))
            .collect();
        let biases = Segments::of(&image).biases(&ours);
        let data = StaticData::new(image, biases[0]);

        let address = (&raw const PAIR) as u64;
        let text = data.word(address).expect("a word");
        assert_eq!(text, PAIR.text.as_ptr() as u64);
        assert_eq!(data.word(address + 8).expect("a word"), PAIR.number);
        let mut read = [0; 11];
        data.read(text, &mut read).expect("bytes");
        assert_eq!(&read, PAIR.text);

        let heap = Box::new(0u64);
        assert!(data.word((&raw const *heap) as u64).is_err(), "the heap is in no file");
    }
}
