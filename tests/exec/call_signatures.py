# call_signatures.py HEADERS OUTPUT: each call of CUDA's headers (cuda_runtime_api.h, cuda.h) on a line, with a letter for every
# word that it takes: n a number, h a handle, v memory of anyone (void*), r the same to be read, p a place of the program, s a text, w a word of a struct that
# is handed over as a whole, q a place of handles.
import re
import sys

folder = sys.argv[1]
# Of more than 16 bytes: on the stack, where every word is something.
words = {'dim3': 'ww', 'cudaExtent': '', 'cudaPitchedPtr': '', 'cudaPos': '', 'cudaMemLocation': 'w', 'CUmemLocation': 'w'}
numbers = re.compile(
    r'^(unsigned|signed|int|long|char|size_t|float|double|cuuint\d+_t|uint\d+_t|enum|CUdevice$|.*(Flags|flags|Mode|Attr|attribute|Type|'
    r'type|Kind|Config|config|Limit|limit|Format|Option|option|Advise|advise|error|Result|CUresult|Policy|level|capability|cudaError_t|'
    r'cudaMemcpyKind|cudaFuncCache|cudaSharedMemConfig|CUfunc_cache|CUsharedconfig|CUtensorMap\w+|CUcomputemode|GraphConditionalHandle))')


def letter(call, parameter):
    parameter = re.sub(r'__dv\([^)]*\)', '', parameter)
    is_constant = 'const' in parameter
    parameter = re.sub(r'\b(const|struct|enum|volatile|__restrict__)\b', ' ', parameter).strip()
    if parameter in ('', 'void'):
        return ''
    if '*' in parameter or '[' in parameter:
        kind = parameter[:parameter.find('*')].split() if '*' in parameter else ['array']
        # What attributes are read from, and written to, is the program's own.
        is_value = re.search(r'(MemPool|MemRange|Pointer)\w*Attribute', call) and re.search(r'\b(data|value)$', parameter)
        if is_constant and kind == ['char'] and parameter.count('*') == 1:
            return 's'
        if kind and re.match(r'(cuda|CU)(Graph|Stream|Event|graph|stream|event|Kernel|kernel|function)\w*(_t|Node|Exec)?$', kind[0]) and not re.search(r'Params|Data|Info|Status|Attr', kind[0]):
            return 'q'
        if kind != ['void'] or parameter.count('*') > 1 or is_value:
            return 'p'
        return 'r' if is_constant else 'v'
    name = parameter.split()
    kind = name[0]
    if kind in words:
        return words[kind]
    if kind in ('CUdeviceptr', 'CUdeviceptr_v2'):
        return 'v'
    if 'Callback' in kind or 'ostFn' in kind or 'callback' in kind or 'B2DSize' in kind:
        return 'c'
    return 'n' if numbers.match(kind) else 'h'


renamed = {}
found = {}
for header in ('cuda_runtime_api.h', 'cuda.h'):
    text = open(f'{folder}/{header}', errors='replace').read()
    text = re.sub(r'/\*.*?\*/', '', text, flags=re.S)
    text = re.sub(r'//[^\n]*', '', text)
    if header == 'cuda.h':
        renamed.update(re.findall(r'#define\s+(cu\w+)\s+(?:__CUDA_API_P\w+\()?(cu\w+)', text))
    for returned, name, inside in re.findall(r'([\w*]+)\s+(?:CUDARTAPI|CUDAAPI)\s+(\w+)\s*\(([^;]*?)\)\s*;', text):
        if returned == 'cudaChannelFormatDesc':
            continue  # a struct: where it goes to is a word more, which the caller answers for
        letters = ''.join(letter(name, p) for p in re.split(r',(?![^()]*\))', inside))
        if 'c' not in letters:
            found.setdefault(name, []).append(letters)
with open(sys.argv[2], 'w') as output:
    for name, versions in sorted(found.items()):
        # The name of a call stands for its newest version; the function of that name is the oldest, which the header has last.
        if name in renamed:
            print(renamed[name], versions[0] or '-', file=output)
            versions = versions[1:]
        if versions:
            print(name, versions[-1] or '-', file=output)
