//! Reads the kind and the machine of a program from the file's header, and what an ELF program needs: its loader and libraries.

use std::io::{Read, Seek, SeekFrom};

use object::read::elf::{FileHeader, ProgramHeader};
use object::read::macho::{FatArch, MachHeader, MachOFatFile, MachOFatFile32, MachOFatFile64};
use object::{Endianness, LittleEndian as LE, ReadRef as _, elf, macho, pe};

use super::{BoundedFile, FileHandle, Glibc, Machine, Program};
use crate::format::{HEAD_LENGTH, read_head};
use crate::{BinaryFormat, Lookalike};

/// Maximum length of a script's first line that is read, in bytes.
const FIRST_LINE: usize = 254;

/// Maximum number of version requirements to examine. Programs have a few dozen.
const VERSIONS: usize = 2048;

/// Maximum number of slices in a universal binary. Java class files, with the same magic number, have a higher value
/// there.
const SLICES: usize = 44;

impl Program {
    /// Examines the header of a file, in bounded time and memory even if it is malformed.
    pub fn examine(mut file: impl Read + Seek) -> Self {
        let read = file.seek(SeekFrom::Start(0)).and_then(|_| read_head(&mut file, HEAD_LENGTH));
        let Ok(head) = read else { return Program::Other(Lookalike::Unknown) };
        let source = BoundedFile::new(file);
        let file = FileHandle(&source);
        match &head[..] {
            [b'#', b'!', line @ ..] => {
                let line = &line[..line.len().min(FIRST_LINE)];
                let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
                let (line, has_return) = line.strip_suffix(b"\r").map_or((line, false), |line| (line, true));
                Program::Script { interpreter: String::from_utf8_lossy(line).trim().to_owned(), has_return }
            }
            [0x7f, b'E', b'L', b'F', 1, ..] => elf_program::<elf::FileHeader32<Endianness>, _>(file),
            [0x7f, b'E', b'L', b'F', ..] => elf_program::<elf::FileHeader64<Endianness>, _>(file),
            [0xfe, 0xed, 0xfa, 0xce, ..] | [0xce, 0xfa, 0xed, 0xfe, ..] => {
                mach_o::<macho::MachHeader32<Endianness>, _>(file)
            }
            [0xfe, 0xed, 0xfa, 0xcf, ..] | [0xcf, 0xfa, 0xed, 0xfe, ..] => {
                mach_o::<macho::MachHeader64<Endianness>, _>(file)
            }
            [0xca, 0xfe, 0xba, 0xbe, ..] => universal(MachOFatFile32::parse(file)),
            [0xca, 0xfe, 0xba, 0xbf, ..] => universal(MachOFatFile64::parse(file)),
            [b'M', b'Z', ..] => portable(file),
            _ => other(&head),
        }
    }
}

/// What is no program of any system.
fn other(head: &[u8]) -> Program {
    match BinaryFormat::detect(head) {
        Ok(_) => Program::Unusable("an archive"),
        Err(lookalike) => Program::Other(lookalike),
    }
}

fn elf_program<Elf, R>(file: FileHandle<'_, R>) -> Program
where
    Elf: FileHeader<Endian = Endianness>,
    R: Read + Seek,
{
    let header = Elf::parse(file).and_then(|header| Ok((header, header.endian()?)));
    let Ok((header, endian)) = header else { return Program::Unusable("an ELF file with a broken header") };
    if !matches!(header.e_type(endian), elf::ET_EXEC | elf::ET_DYN) {
        return Program::Unusable("an ELF file that is not a program");
    }
    let Ok(segments) = header.program_headers(endian, file) else {
        return Program::Unusable("an ELF file with a broken header");
    };
    if segments.is_empty() {
        return Program::Unusable("an ELF file that is not a program");
    }
    let interpreter = segments
        .iter()
        .find_map(|segment| segment.interpreter(endian, file).ok().flatten())
        .map(|path| String::from_utf8_lossy(path).into_owned());
    let machine = machine(header.e_machine(endian), header.is_class_64(), header.is_little_endian());
    Program::Elf { machine, system: system(header), interpreter, glibc: glibc(header, endian, file) }
}

fn machine(machine: elf::Machine, is_64: bool, is_little_endian: bool) -> Machine {
    match (machine, is_64, is_little_endian) {
        (elf::EM_X86_64, true, true) => Machine::X8664,
        (elf::EM_AARCH64, true, true) => Machine::Aarch64,
        (elf::EM_386, false, true) => Machine::X86,
        (elf::EM_ARM, ..) => Machine::Other("32-bit ARM".to_owned()),
        (elf::EM_RISCV, ..) => Machine::Other("RISC-V".to_owned()),
        (elf::EM_X86_64, ..) => Machine::Other("x32".to_owned()),
        (other, ..) => Machine::Other(format!("machine {}", other.0)),
    }
}

fn system<Elf: FileHeader<Endian = Endianness>>(header: &Elf) -> &'static str {
    match header.e_ident().os_abi {
        elf::ELFOSABI_NETBSD => "netbsd",
        elf::ELFOSABI_SOLARIS => "solaris",
        elf::ELFOSABI_FREEBSD => "freebsd",
        elf::ELFOSABI_OPENBSD => "openbsd",
        _ => "linux",
    }
}

/// The newest glibc version among the symbol versions that the program requires.
fn glibc<Elf, R>(header: &Elf, endian: Endianness, file: FileHandle<'_, R>) -> Option<Glibc>
where
    Elf: FileHeader<Endian = Endianness>,
    R: Read + Seek,
{
    let sections = header.sections(endian, file).ok()?;
    let (libraries, link) = sections.gnu_verneed(endian, file).ok()??;
    let strings = sections.strings(endian, file, link).ok()?;
    libraries
        .flatten()
        .take(VERSIONS)
        .flat_map(|(_, versions)| versions.flatten())
        .take(VERSIONS)
        .filter_map(|version| parse(version.name(endian, strings).ok()?))
        .max()
}

/// Parses `GLIBC_2.17` or `GLIBC_2.2.5`.
fn parse(name: &[u8]) -> Option<Glibc> {
    let mut numbers = std::str::from_utf8(name).ok()?.strip_prefix("GLIBC_")?.split('.').map(str::parse);
    Some(Glibc { major: numbers.next()?.ok()?, minor: numbers.next()?.ok()? })
}

fn mach_o<Mach, R>(file: FileHandle<'_, R>) -> Program
where
    Mach: MachHeader<Endian = Endianness>,
    R: Read + Seek,
{
    let header = Mach::parse(file, 0).and_then(|header| Ok((header, header.endian()?)));
    match header {
        Ok((header, endian)) if header.filetype(endian) == macho::MH_EXECUTE => {
            Program::MachO { machines: vec![cpu(header.cputype(endian))] }
        }
        Ok(_) => Program::Unusable("a Mach-O file that is not a program"),
        Err(_) => Program::Unusable("a Mach-O file with a broken header"),
    }
}

fn universal<Fat: FatArch>(file: object::Result<MachOFatFile<'_, Fat>>) -> Program {
    match file {
        Ok(file) if (1..=SLICES).contains(&file.arches().len()) => {
            Program::MachO { machines: file.arches().iter().map(|slice| cpu(slice.cputype())).collect() }
        }
        Ok(_) => Program::Other(Lookalike::Unknown),
        Err(_) => Program::Unusable("a universal Mach-O file with a broken header"),
    }
}

fn cpu(cpu: macho::CpuType) -> Machine {
    match cpu {
        macho::CPU_TYPE_ARM64 => Machine::Aarch64,
        macho::CPU_TYPE_X86_64 => Machine::X8664,
        macho::CPU_TYPE_X86 => Machine::X86,
        other => Machine::Other(format!("CPU type {}", other.0)),
    }
}

fn portable<R: Read + Seek>(file: FileHandle<'_, R>) -> Program {
    let header = pe::ImageDosHeader::parse(file).ok().and_then(|dos| {
        let at = u64::from(dos.nt_headers_offset());
        let magic = file.read_at::<object::U32<LE>>(at).ok()?;
        let header = file.read_at::<pe::ImageFileHeader>(at.checked_add(4)?).ok()?;
        (magic.get(LE) == pe::IMAGE_NT_SIGNATURE).then_some(header)
    });
    let Some(header) = header else { return Program::Unusable("a Windows file with a broken header") };
    if header.characteristics.get(LE).0 & pe::IMAGE_FILE_DLL.0 != 0 {
        return Program::Unusable("a Windows library");
    }
    let machine = match header.machine.get(LE) {
        pe::IMAGE_FILE_MACHINE_AMD64 => Machine::X8664,
        pe::IMAGE_FILE_MACHINE_ARM64 | pe::IMAGE_FILE_MACHINE_ARM64EC | pe::IMAGE_FILE_MACHINE_ARM64X => {
            Machine::Aarch64
        }
        pe::IMAGE_FILE_MACHINE_I386 => Machine::X86,
        other => Machine::Other(format!("machine {other:?}")),
    };
    Program::Pe { machine }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_glibc_are_ordered_as_numbers() {
        assert!(parse(b"GLIBC_2.17") > parse(b"GLIBC_2.2.5"));
        assert!(parse(b"GLIBC_2.2.5").is_some());
        assert_eq!(parse(b"GLIBC_PRIVATE"), None);
        assert_eq!(parse(b"GCC_3.0"), None);
    }
}
