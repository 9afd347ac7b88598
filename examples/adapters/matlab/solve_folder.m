function solve_folder(folder)
% SOLVE_FOLDER  The MATLAB reference on a run folder; leaves a trace.
%
%   SOLVE_FOLDER(folder) reads the files of a run (docs/run-folder.md), makes it
%   with SSTEP_DCD_KSVM or SSTEP_BDCD_KRR, and writes a at its points. Runs in
%   MATLAB and in GNU Octave, without toolboxes or packages.

  given = problem(fullfile(folder, 'problem.txt'));
  read = @(name, kind) column(fullfile(folder, [name '.bin']), kind);
  m = given.samples;
  A = zeros(m, given.features);
  starts = read('row_starts', 'int64');
  columns = read('columns', 'int64');
  values = read('values', 'double');
  for i = 1:m
    own = starts(i) + 1:starts(i + 1);
    A(i, columns(own) + 1) = values(own);
  end
  y = read('targets', 'double');
  blocks = reshape(read('indices', 'int64'), given.block, [])' + 1;
  points = read('points', 'int64');
  initial = read('initial', 'double');
  if strcmp(given.task, 'krr')
    [~, history] = sstep_bdcd_krr(A, y, initial, blocks, given.s, given.lambda, given);
  else
    [~, history] = sstep_dcd_ksvm(A, y, initial, blocks, given.s, given.task, given.C, given);
  end
  states = [initial, history];
  file = fopen(fullfile(folder, 'trace.bin'), 'w', 'ieee-le');
  fwrite(file, states(:, ceil(points / given.s) + 1), 'double');
  fclose(file);
end

function given = problem(name)
  given = struct();
  for line = strsplit(strtrim(fileread(name)), newline)
    [key, value] = strtok(line{1});
    number = str2double(value);
    if isnan(number)
      number = strtrim(value);
    end
    given.(key) = number;
  end
  given.name = given.kernel;
end

function numbers = column(name, kind)
  file = fopen(name, 'r', 'ieee-le');
  numbers = fread(file, Inf, kind);
  fclose(file);
end
